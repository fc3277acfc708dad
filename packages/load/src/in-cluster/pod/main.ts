/** What runs in a pod of the load. It is bundled into one file, and takes its plan from the file beside it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runClock } from "@lameduck/accounting/recording";
import { openRoute, type OpenRoute } from "../../routes/route.ts";
import { planFile, type PodPlan } from "../plan.ts";
import { Output } from "./output.ts";
import { LocalGenerator } from "./local-generator.ts";
import { messageOf } from "@lameduck/drain/common";

/** How often records leave: the fewer lines the better they pack, the more the fresher the figures. */
const flushPeriodMs = 250;
/** A log that is silent for longer than this is one whose stream has been cut. */
const reportPeriodMs = 1_000;

const clock = runClock();
const epoch = wallClockAtOrigin();
const now = (): number => clock.now() + epoch;
const index = Number(process.env["JOB_COMPLETION_INDEX"] ?? "0");
const output = new Output(now);
const stopping = Promise.withResolvers<"asked" | "log too slow">();
process.once("SIGTERM", () => {
  output.say({ type: "stopping" });
  stopping.resolve("asked");
});
await run(JSON.parse(await readFile(join(import.meta.dirname, planFile), "utf8")) as PodPlan);

async function run(plan: PodPlan): Promise<void> {
  const routes: OpenRoute[] = [];
  for (const { url, ...route } of plan.routes)
    try {
      routes.push(await openRoute({ ...route, url: new URL(url) }));
    } catch (error) {
      output.say({ type: "failed", url, problem: messageOf(error) });
      return leave(plan, 1);
    }
  const generators = routes.map(
    (route, number) =>
      new LocalGenerator({
        route,
        load: plan.load,
        // Every pod and every route has a schedule of its own.
        seed: plan.seed + index * routes.length + number,
        origin: clock.origin,
      }),
  );
  const addresses = Object.fromEntries(routes.map(({ name, address }) => [name, address]));
  output.say({ type: "hello", index, epoch, addresses });
  for (const generator of generators) generator.begin();
  output.say({ type: "begun" });
  const flushing = setInterval(() => {
    flush(generators);
    if (output.overflowing) stopping.resolve("log too slow");
  }, flushPeriodMs);
  const reporting = setInterval(() => report(generators), reportPeriodMs);
  const because = await stopping.promise;
  await Promise.all(generators.map((generator) => generator.stop()));
  clearInterval(flushing);
  clearInterval(reporting);
  flush(generators);
  report(generators);
  output.say({ type: "end", due: generators.map(({ progress }) => progress.due), because });
  await leave(plan, 0);
}

function flush(generators: readonly LocalGenerator[]): void {
  for (const [route, generator] of generators.entries()) output.records(route, generator.take());
}

function report(generators: readonly LocalGenerator[]): void {
  const sum = { due: 0, finished: 0, lost: 0, notSent: 0 };
  for (const { progress } of generators) {
    sum.due += progress.due;
    sum.finished += progress.finished;
    sum.lost += progress.lost;
    sum.notSent += progress.notSent;
  }
  output.say({ type: "progress", ...sum, trials: generators.flatMap(({ trials }) => trials) });
}

/** The reader of the log may be about to open it again. */
async function leave({ linger }: PodPlan, code: number): Promise<never> {
  await output.written();
  await delay(linger);
  process.exit(code);
}

/** Of so many ticks of the wall clock at least one is read at once, also on a busy machine. */
const ticksRead = 5;

/**
 * When the clock began, by the wall clock, exact to some microseconds. Each reading is taken just when the wall clock ticks. A late reading gives too
 * early a time, so the latest one counts.
 */
function wallClockAtOrigin(): number {
  return Math.max(
    ...Array.from({ length: ticksRead }, () => {
      const before = Date.now();
      let tick = before;
      while (tick === before) tick = Date.now();
      return tick - clock.now();
    }),
  );
}
