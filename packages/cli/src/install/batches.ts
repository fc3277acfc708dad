/** All at once would be too much for the API server where there are many, and one after another would take long. */
const atOnce = 10;

/** The results of the work for each, in their order. */
export async function inBatches<T, R>(all: readonly T[], work: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < all.length; at += atOnce)
    results.push(...(await Promise.all(all.slice(at, at + atOnce).map(work))));
  return results;
}
