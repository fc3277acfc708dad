/**
 * Tries one seed after another for the minutes of the command line, from its seed on or from any: `[MINUTES] [SEED]`. Exits with 1 at the first
 * that something is wrong with.
 * @param wrongWith what is wrong, if anything.
 * @param summary for the end, of so many seeds.
 */
export async function tryEverySeed(
  wrongWith: (seed: number) => string | undefined | Promise<string | undefined>,
  summary: (seeds: number) => readonly [count: string, verdict: string],
): Promise<void> {
  const [minutes = "10", first = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
  const end = Date.now() + Number(minutes) * 60_000;
  const began = Number(first);
  let seed = began;
  for (; Date.now() < end; seed++) {
    const wrong = await wrongWith(seed);
    if (wrong === undefined) continue;
    process.stdout.write(`seed ${seed}: ${wrong}\n`);
    process.exit(1);
  }
  const [count, verdict] = summary(seed - began);
  process.stdout.write(`${count} from seed ${began} on in ${minutes} minutes: ${verdict}\n`);
}
