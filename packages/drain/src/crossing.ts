/** After so many, halving is sure. */
const interpolations = 12;

/**
 * The first whole number after `start` at which `above`, falling and `aboveStart` there, is below 0; `end` where it is not sooner. Logarithms of
 * an expected loss are nearly straight in silence, so it is interpolated (after Anderson and Björck: an end that stays is lowered by as much
 * as the other end moved), from the near end, as the far one is far; some five steps do, and a bend costs at most another ten.
 */
export function firstBelow(
  start: number,
  aboveStart: number,
  end: number,
  above: (at: number) => number,
): number {
  let over = Math.floor(start);
  let aboveOver = aboveStart;
  let under = over;
  let aboveUnder = aboveOver;
  for (let ahead = 250; aboveUnder >= 0; ahead *= 4) {
    if (under === end) return end;
    [over, aboveOver] = [under, aboveUnder];
    under = Math.min(end, over + ahead);
    aboveUnder = Math.max(lowest, above(under));
  }
  for (let step = 0; under - over > 1; step++) {
    const part = step < interpolations ? aboveOver / (aboveOver - aboveUnder) : 0.5;
    const middle = Math.min(under - 1, Math.max(over + 1, Math.ceil(over + part * (under - over))));
    const aboveMiddle = Math.max(lowest, above(middle));
    if (aboveMiddle < 0) {
      aboveOver *= lowered(aboveMiddle, aboveUnder);
      [under, aboveUnder] = [middle, aboveMiddle];
    } else {
      aboveUnder *= lowered(aboveMiddle, aboveOver);
      [over, aboveOver] = [middle, aboveMiddle];
    }
  }
  return under;
}

/** Stands for a loss of nothing at all, whose logarithm no line can be drawn through. */
const lowest = -1_000;

function lowered(moved: number, before: number): number {
  const rest = 1 - moved / before;
  return rest > 0 ? rest : 0.5;
}
