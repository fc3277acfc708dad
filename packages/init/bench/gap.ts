/**
 * Shows what each second of waiting for a gap buys. Three clients keep pools to eight pods, on virtual time. Two pods are replaced at a time.
 * A released pod is stopped at the first moment that a rule takes. The bench prints how many requests a second come right after that moment.
 * Each second that a close takes to reach the client loses as many.
 *
 *     node packages/init/bench/gap.ts [terminations]
 */

import { markdownTable } from "../../../scripts/format-page.ts";

/** Whether to stop `waited` ms after the stop was allowed, `unused` ms after the latest request or answer. */
type Rule = (waited: number, unused: number) => boolean;

interface Load {
  readonly kind: "lifo" | "ring";
  /** Requests a second of each client. */
  readonly rate: number;
}

const terminations = Number(process.argv[2] ?? 3_000);
const clients = 3;
const pods = 8;
const lags = [1_000, 2_000, 5_000];
const ringSize = 16;
const slowShare = 0.05;
const slowMs = 300;
const quickMs = 3;
/** A machine lets a client stand still now and then; many requests are due at once then. */
const betweenStallsMs = 4_000;
const stallMs = 60;
const lookMs = 5;
const countedMs = 20;

class Pod {
  stopped = false;
  busy = 0;
  used = -Infinity;
  readonly requests: number[] = [];
}

class Time {
  now = 0;
  readonly #due: { readonly at: number; readonly run: () => void }[] = [];

  in(delay: number, run: () => void): void {
    const at = this.now + delay;
    let low = 0;
    for (let high = this.#due.length; low < high;) {
      const middle = (low + high) >> 1;
      if ((this.#due[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, { at, run });
  }

  next(): void {
    const one = this.#due.pop();
    if (one === undefined) return;
    this.now = one.at;
    one.run();
  }
}

function simulate({ kind, rate }: Load, rule: Rule): { perSecond: number; waited: number } {
  let seed = 1;
  const random = (): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return (seed + 0.5) / 2 ** 32;
  };
  const exponential = (mean: number): number => -Math.log(random()) * mean;
  const time = new Time();
  const alive = Array.from({ length: pods }, () => new Pod());
  const known = Array.from({ length: clients }, () => [...alive]);
  for (let client = 0; client < clients; client++) {
    const free: Pod[] = [];
    const ring: Pod[] = [];
    let turn = 0;
    let standsUntil = 0;
    const choose = (): Pod => {
      const all = known[client] ?? [];
      return all[Math.floor(random() * all.length)] ?? new Pod();
    };
    const take = (): Pod => {
      if (kind === "lifo") {
        for (let pod = free.pop(); pod; pod = free.pop()) if (!pod.stopped) return pod;
        return choose();
      }
      const place = turn++ % ringSize;
      const pod = ring[place];
      return pod && !pod.stopped ? pod : (ring[place] = choose());
    };
    const send = (): void => {
      const pod = take();
      pod.requests.push(time.now);
      pod.busy++;
      time.in(random() < slowShare ? slowMs : exponential(quickMs), () => {
        pod.busy--;
        pod.used = time.now;
        if (kind === "lifo" && !pod.stopped) free.push(pod);
      });
    };
    const arrive = (): void => {
      time.in(Math.max(0, standsUntil - time.now), send);
      time.in(exponential(1_000 / rate), arrive);
    };
    const stall = (): void => {
      standsUntil = time.now + exponential(stallMs);
      time.in(exponential(betweenStallsMs), stall);
    };
    arrive();
    stall();
  }
  let requests = 0;
  const waits: number[] = [];
  const end = (then: () => void): void => {
    const pod = alive.shift();
    const next = new Pod();
    if (!pod) return;
    alive.push(next);
    lags.forEach((lag, client) => {
      time.in((random() * lag) / 2, () => void known[client]?.push(next));
      time.in(lag * (0.3 + 0.7 * random()), () => {
        known[client] = known[client]?.filter((one) => one !== pod) ?? [];
      });
    });
    const allowed = time.now + Math.max(...lags) + 500;
    const look = (): void => {
      const unused = pod.busy > 0 ? 0 : time.now - pod.used;
      if (!rule(time.now - allowed, unused)) return time.in(lookMs, look);
      const stop = time.now;
      time.in(countedMs, () => {
        requests += pod.requests.filter((at) => at > stop).length;
        pod.stopped = true;
        waits.push(stop - allowed);
        then();
      });
    };
    time.in(allowed - time.now, look);
  };
  const roll = (): void => {
    let left = 2;
    const then = (): void => {
      if (--left === 0) time.in(3_000, roll);
    };
    end(then);
    end(then);
  };
  time.in(8_000, roll);
  while (waits.length < terminations) time.next();
  const waited = waits.reduce((sum, one) => sum + one, 0) / waits.length / 1_000;
  return { perSecond: (requests / waits.length / countedMs) * 1_000, waited };
}

const silence =
  (length: number, within: number): Rule =>
  (waited, unused) =>
    waited >= within || unused >= length;
const rules: Readonly<Record<string, Rule>> = {
  "at once": () => true,
  "as soon as no request is being answered": silence(1, 500),
  "100 ms, within 3 s": silence(100, 3_000),
  "200 ms, within 1 s": silence(200, 1_000),
  "200 ms, within 2 s": silence(200, 2_000),
  "200 ms, within 3 s": silence(200, 3_000),
  "200 ms, within 5 s": silence(200, 5_000),
  "400 ms, within 3 s": silence(400, 3_000),
  "1 s, within 5 s": silence(1_000, 5_000),
  "1 s, within 10 s": silence(1_000, 10_000),
};
const loads: Readonly<Record<string, Load>> = {
  "latest first, 10/s": { kind: "lifo", rate: 10 },
  "latest first, 30/s": { kind: "lifo", rate: 30 },
  "latest first, 100/s": { kind: "lifo", rate: 100 },
  "in turn, 30/s": { kind: "ring", rate: 30 },
};

const rows = Object.entries(rules).map(([name, rule]) => [
  name,
  ...Object.values(loads).map((load) => {
    const { perSecond, waited } = simulate(load, rule);
    return `${perSecond.toFixed(1)}/s, +${waited.toFixed(1)} s`;
  }),
]);
process.stdout.write(markdownTable(["unused for", ...Object.keys(loads)], rows));
