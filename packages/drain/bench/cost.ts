import { spawnSync } from "node:child_process";
import { Drain, parseConfig, type DrainOptions, type Observation } from "../src/index.ts";

/**
 * What the decision costs, in processor time: bookkeeping per arrival, and weighing over a hold, beside a hold by `fixed`, which weighs nothing. Each line
 * is a process's first hold, as in production: nothing is warm. `npm run bench -w packages/drain`.
 */
const rate = 120;
const seconds = 60;
const ends = 4_000;

/** Microseconds of processor time so far. */
function used(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** A minute of even traffic by so many addresses, and 4 s of it in the hold. */
function arrivals(addresses: number): Observation[] {
  const all: Observation[] = [];
  for (let index = 0; index < (seconds + ends / 1_000) * rate; index++) {
    // A multiplier without a common factor: every address comes, and none at a beat.
    const sender = `198.18.${((index * 7_919) % addresses) >> 8}.${((index * 7_919) % addresses) & 255}`;
    all.push({ type: "arrival", at: -seconds * 1_000 + (index * 1_000) / rate, sender, kind: "connection" });
  }
  return all;
}

function play(options: DrainOptions, addresses: number): string {
  const drain = new Drain(parseConfig({ grace: "60s", ...options }));
  const all = arrivals(addresses);
  drain.observe({ type: "watching", at: -seconds * 1_000 });
  let next = 0;
  const tell = (isDue: (at: number) => boolean): void => {
    for (let one = all[next]; one !== undefined && isDue(one.at); one = all[++next]) drain.observe(one);
  };
  const began = used();
  tell((at) => at < 0);
  const perArrival = (used() - began) / next;
  drain.observe({ type: "termination", at: 0 });
  let weighing = 0;
  let asked = 0;
  for (let now = 0; ;) {
    tell((at) => at <= now);
    const before = used();
    const decision = drain.decide(now);
    weighing += used() - before;
    asked++;
    // As the library does: at its beat, as long as the wait is not over.
    if (decision.stop)
      return `${perArrival.toFixed(2).padStart(6)} us an arrival; held ${(now / 1_000).toFixed(1).padStart(4)} s, asked ${String(asked).padStart(3)} times, ${(weighing / 1_000).toFixed(1).padStart(6)} ms, ${(weighing / now / 10).toFixed(2)} % of the processor`;
    now = decision.until;
  }
}

function playHere(policy: string, addresses: string): void {
  const options: DrainOptions = policy === "fixed" ? { policy, delay: 5_000 } : {};
  process.stdout.write(
    `${policy.padEnd(8)} ${addresses.padStart(8)} addresses: ${play(options, Number(addresses))}\n`,
  );
}

const [given, ofSoMany = "1000"] = process.argv.slice(2);
if (given !== undefined) playHere(given, ofSoMany);
else
  for (const policy of ["fixed", "adaptive"])
    for (const addresses of [1, 10, 100, 1_000, 10_000])
      spawnSync(process.execPath, [import.meta.filename, policy, String(addresses)], { stdio: "inherit" });
