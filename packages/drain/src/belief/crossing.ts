/** After so many, halving is sure. */
const interpolations = 12;

/** How far below 0 counts as at it: 2 % of a loss is nothing, and takes as many steps to find as all the rest. */
const closeEnough = 0.02;

/**
 * A whole number after `start` at which `above`, falling and `aboveStart` there, is just below 0, or the first at which it is below; `end` where it is not
 * sooner. Logarithms of an expected loss are nearly straight in silence, so the near end is drawn on until it is below, and then interpolated
 * (after Anderson and Björck: an end that stays is lowered by as much as the other end moved); some five steps do, and a bend costs at most another ten.
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
  for (let ahead = 250; aboveUnder >= 0; ahead = reach(ahead, aboveOver, aboveUnder)) {
    if (under === end) return end;
    [over, aboveOver] = [under, aboveUnder];
    under = Math.min(end, over + ahead);
    aboveUnder = Math.max(lowest, above(under));
  }
  let nearest = aboveUnder;
  for (let step = 0; under - over > 1 && nearest < -closeEnough; step++) {
    const part = step < interpolations ? aboveOver / (aboveOver - aboveUnder) : 0.5;
    const middle = Math.min(under - 1, Math.max(over + 1, Math.ceil(over + part * (under - over))));
    const aboveMiddle = Math.max(lowest, above(middle));
    if (aboveMiddle < 0) {
      aboveOver *= lowered(aboveMiddle, aboveUnder);
      [under, aboveUnder] = [middle, aboveMiddle];
      nearest = aboveMiddle;
    } else {
      aboveUnder *= lowered(aboveMiddle, aboveOver);
      [over, aboveOver] = [middle, aboveMiddle];
    }
  }
  return under;
}

/** Stands for a loss of nothing at all, whose logarithm no line can be drawn through. */
const lowest = -1_000;

/** How far to look next: a little farther than a straight line goes on, as the curve flattens, but not much farther than before. */
function reach(before: number, aboveOver: number, aboveUnder: number): number {
  const straight = Math.ceil((1.1 * before * aboveUnder) / (aboveOver - aboveUnder));
  return straight > 0 ? Math.min(16 * before, Math.max(before, straight)) : 4 * before;
}

function lowered(moved: number, before: number): number {
  const rest = 1 - moved / before;
  return rest > 0 ? rest : 0.5;
}
