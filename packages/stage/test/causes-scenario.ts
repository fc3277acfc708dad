import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { account, runClock, type PodEvent, type RemedyResult, type SenderEvent } from "@lameduck/accounting";
import { manifestFromCommand, type PodTemplate, type Strategy } from "@lameduck/manifests";
import { startStage, type Stage, type Network, startFleet } from "../src/index.ts";
import { parsePropagation, type LoadOptions, type SenderSpec } from "@lameduck/load";
import type { SenderFleet } from "../src/senders/fleet.ts";

export interface Scenario {
  /** The server: what it answers, and what it does at SIGTERM. */
  readonly app: string;
  readonly replicas?: number;
  readonly graceSeconds?: number;
  readonly preStopSeconds?: number;
  /** Ready as soon as the process runs, as without a readiness probe. */
  readonly unprobed?: boolean;
  readonly strategy?: Strategy;
  /** Default l4. */
  readonly sender?: SenderSpec["kind"];
  /** How the sender learns; "exactly 1s" leaves out what the control plane adds. */
  readonly propagation: string;
  readonly load: LoadOptions;
  /** File descriptors that the load generator may open beside those it has when it is ready. */
  readonly descriptors?: number;
  /** What happens to the pods. */
  readonly act: (running: Running) => Promise<void>;
}

/** Real pods, a real sender and real load while a scenario goes on. */
export interface Running {
  readonly stage: Stage;
  /** Begins the load, and with it the senders' lateness: whatever they hear before, they know at once. */
  readonly begin: () => Promise<void>;
  /** What was to be sent before this moment is no part of the scenario. */
  readonly countFromNow: () => void;
  /** Waits until something has happened to a pod, or a sender has done something; returns when it was. */
  readonly pod: (type: PodEvent["type"], name?: string) => Promise<number>;
  readonly sender: (type: SenderEvent["type"]) => Promise<number>;
  /** Waits until so many more requests have ended. */
  readonly requests: (count: number) => Promise<void>;
  /** Waits until so many more requests have been lost, or could not be sent. */
  readonly losses: (count: number) => Promise<void>;
}

/** How often a scenario is played until enough was seen in time. */
const mostPlays = 5;

/**
 * Plays a scenario until enough of its losses were seen in time: on a busy machine a reset may be seen so late that it could be of another
 * cause. @returns what the last play has shown, with those losses only.
 */
export async function playInTime(
  context: TestContext,
  network: Network,
  scenario: Scenario,
  inTime: (result: RemedyResult) => RemedyResult["lostRequests"],
  least: number,
): Promise<RemedyResult> {
  for (let plays = 1; ; plays++) {
    const result = await play(context, network, scenario);
    const lostRequests = inTime(result);
    if (lostRequests.length >= least || plays === mostPlays)
      return { ...result, lostRequests, lost: lostRequests.length };
    context.diagnostic(`${lostRequests.length} of ${result.lost} losses were seen in time`);
  }
}

/** Plays a scenario with real processes and sockets, and accounts for it. */
export async function play(
  context: TestContext,
  network: Network,
  scenario: Scenario,
): Promise<RemedyResult> {
  const clock = runClock();
  const seen = new Seen(context.signal);
  const fleet = await startFleet({
    clock,
    senders: [
      {
        kind: scenario.sender ?? "l4",
        name: "sender-1",
        address: await network.senderAddress("sender-1"),
      },
    ],
    propagation: parsePropagation(scenario.propagation),
    load: { timeout: "3s", connectTimeout: "1s", ...scenario.load },
    seed: 1,
    onEvent: (event) => seen.sender(event),
  });
  context.after(() => fleet.close());
  if (scenario.descriptors !== undefined) limitGenerator(scenario.descriptors);
  const stage = startStage({
    ...workload(scenario),
    progressDeadlineSeconds: 30,
    clock,
    network,
    listener: fleet,
    onEvent: (event) => seen.pod(event),
  });
  context.after(() => stage.stop());
  await stage.ready();
  await seen.until(
    () => seen.senderEvents.filter((event) => event.type === "added").length >= stage.pods.length,
  );
  let countedFrom = Infinity;
  const running: Running = {
    stage,
    begin: async () => {
      countedFrom = await fleet.begin();
    },
    countFromNow: () => {
      countedFrom = clock.now();
    },
    pod: (type, name) =>
      seen.find(seen.podEvents, (event) => event.type === type && (name ?? event.pod) === event.pod),
    sender: (type) => seen.find(seen.senderEvents, (event) => event.type === type),
    requests: (count) => more(seen, () => fleet.progress().finished, count),
    losses: (count) => more(seen, () => lostOrUnsent(fleet), count),
  };
  await scenario.act(running);
  const { records, ended } = await fleet.stop();
  // A second play has the same addresses.
  await stage.stop();
  return account(
    {
      remedy: context.name,
      records,
      podEvents: seen.podEvents,
      senderEvents: seen.senderEvents,
      countedFrom,
      scheduled: records.filter((record) => record.intended >= countedFrom).length,
      ended,
    },
    { description: "a scenario", seed: 1 },
  );
}

/** Lowering the limit of a process of one's own takes no privilege. */
function limitGenerator(more: number): void {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
  const generator = children.find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("generator-process"),
  );
  const limit = readdirSync(`/proc/${generator}/fd`).length + more;
  execFileSync("prlimit", ["--pid", generator ?? "none", `--nofile=${limit}:${limit}`]);
}

function lostOrUnsent(fleet: SenderFleet): number {
  const { lost, notSent } = fleet.progress();
  return lost + notSent;
}

async function more(seen: Seen, value: () => number, count: number): Promise<void> {
  const goal = value() + count;
  await seen.until(() => value() >= goal);
}

/** Events as they come in, and conditions that are waited for; the test's own time-out is the limit. */
class Seen {
  readonly podEvents: PodEvent[] = [];
  readonly senderEvents: SenderEvent[] = [];
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  pod(event: PodEvent): void {
    this.podEvents.push(event);
  }

  sender(event: SenderEvent): void {
    this.senderEvents.push(event);
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await delay(10, undefined, { signal: this.#signal });
  }

  async find<E extends { readonly at: number }>(
    events: readonly E[],
    is: (event: E) => boolean,
  ): Promise<number> {
    await this.until(() => events.some(is));
    return events.find(is)!.at;
  }
}

function workload({ app, replicas = 2, graceSeconds = 10, preStopSeconds, unprobed, strategy }: Scenario) {
  const made = manifestFromCommand([process.execPath, "-e", app], { replicas, port: 8080, graceSeconds });
  const template: PodTemplate = {
    ...made.template,
    containers: made.template.containers.map((container) => {
      const { readiness, ...rest } = container;
      return {
        ...rest,
        ...(readiness && !unprobed ? { readiness } : {}),
        ...(preStopSeconds === undefined
          ? {}
          : { preStop: { kind: "sleep" as const, seconds: preStopSeconds } }),
      };
    }),
  };
  return { ...made, template, ...(strategy ? { strategy } : {}) };
}
