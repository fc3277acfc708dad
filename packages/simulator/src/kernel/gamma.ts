/**
 * The gamma distribution's cumulative function, P(shape, x): the chance that a gamma variable of this shape and scale 1 is at most x. By its series
 * where x is small and by its continued fraction where it is large (Abramowitz and Stegun 6.5.29 and 6.5.31).
 */
export function gammaCumulative(shape: number, x: number): number {
  if (!(x > 0)) return 0;
  const front = Math.exp(shape * Math.log(x) - x - logGamma(shape));
  return x < shape + 1 ? Math.min(1, front * series(shape, x)) : Math.max(0, 1 - front * fraction(shape, x));
}

const precision = 1e-14;

function series(shape: number, x: number): number {
  let term = 1 / shape;
  let sum = term;
  for (let n = shape + 1; term > sum * precision; n++) {
    term *= x / n;
    sum += term;
  }
  return sum;
}

/** From its front, by the modified method of Lentz. */
function fraction(shape: number, x: number): number {
  let b = x + 1 - shape;
  let c = Infinity;
  let d = 1 / b;
  let product = d;
  for (let n = 1, change = 0; Math.abs(change - 1) > precision; n++) {
    const a = n * (shape - n);
    b += 2;
    d = 1 / (b + a * d);
    c = b + a / c;
    change = c * d;
    product *= change;
  }
  return product;
}

/** Stirling's series, from 10 on accurate to 1e-10; the recurrence leads there. */
export function logGamma(x: number): number {
  let shift = 0;
  while (x < 10) shift += Math.log(x++);
  const square = x * x;
  const tail = (1 - (1 - 2 / 7 / square) / (30 * square)) / (12 * x);
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + tail - shift;
}
