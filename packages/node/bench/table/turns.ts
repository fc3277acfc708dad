/**
 * Measures the cells of one protocol in turn: every rollout replaces the pods of one cell's library by those of the next cell's, under
 * one load that goes on throughout. So only the first cell waits for pods to start and senders to warm up, and the time in which
 * old pods hold is that in which the next cell's get known to senders.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { account, runClock, type RemedyResult } from "@lameduck/accounting";
import {
  informed,
  Observed,
  openNetwork,
  settled,
  startFleet,
  startStage,
  type Stage,
} from "@lameduck/stage";
import { manifestFromCommand } from "@lameduck/manifests";
import { orAborted } from "@lameduck/drain/common";
import { parsePropagation, type LoadOptions, type SenderSpec } from "@lameduck/load";
import { bestDelay, type Cell } from "./cells.ts";
import type { Protocol } from "./servers.ts";

export interface Scale {
  readonly replicas: number;
  readonly rps: number;
}

/** What a pod that starts now attaches. */
export interface Attached {
  readonly library: string;
  /** Milliseconds; absent: as shipped. */
  readonly delay?: number;
}

export interface Turn {
  readonly cell: Cell;
  readonly result: RemedyResult;
  /** Between this cell's rollout and the next, milliseconds. */
  readonly took: number;
}

const pod = join(import.meta.dirname, "pod.ts");
/** Pods start in half the time with what they have in common compiled. */
export const compiled = resolve(import.meta.dirname, "../../../../node_modules/.cache/lameduck-table");
const seed = 1;
/** With a quarter of fifty pods at once, two cores are so busy with starting them that nine tenths of the answers over HTTP/2 are late. */
const fewAtOnce = { kind: "rolling", maxSurge: 5, maxUnavailable: 0 } as const;
const warmUp = 3_000;

const senders: readonly Omit<SenderSpec & { kind: "l4" | "client" }, "address">[] = [
  { kind: "l4", name: "node-1" },
  { kind: "l4", name: "node-2" },
  { kind: "l4", name: "node-3" },
  { kind: "client", name: "client-1" },
];

/**
 * Some requests take the pod 300 ms, some calls stream for a second, where the protocol knows such requests. Handshakes of TLS and of
 * HTTP/2 cost client and server a millisecond each: of those two cores bear a hundred a second beside the pods, not 500.
 */
const slow = { slowShare: 0.05, paths: { slow: "/slow" } };
const mixes: Readonly<Record<Protocol, Partial<LoadOptions>>> = {
  http: slow,
  https: { pooledShare: 0.9, ...slow },
  h2: { pooledShare: 0.9, ...slow },
  h2c: { pooledShare: 0.9, ...slow },
  ws: {},
  sse: {},
  grpc: {
    pooledShare: 0.9,
    slowShare: 0.05,
    largeShare: 0.01,
    paths: { quick: "/lab.Echo/Unary", slow: "/lab.Echo/Slow", large: "/lab.Echo/Stream" },
  },
};

export interface TurnOptions {
  readonly protocol: Protocol;
  readonly cells: readonly Cell[];
  readonly scale: Scale;
  /** No cell begins after it. */
  readonly until: () => boolean;
  readonly say: (line: string) => void;
  /** Gives up what is being measured; what has been is accounted for. */
  readonly signal: AbortSignal;
}

/** Must run inside the stage. @returns the cells measured, and why it ended before the last, if it did. */
export async function measureInTurn(options: TurnOptions): Promise<{ turns: Turn[]; failure?: unknown }> {
  const { protocol, cells, scale, say, signal } = options;
  const network = await openNetwork();
  const folder = mkdtempSync(join(tmpdir(), "lameduck-table-"));
  const file = join(folder, "attached.json");
  const clock = runClock();
  const observed = new Observed();
  const died = new AbortController();
  const either = AbortSignal.any([signal, died.signal]);
  const fleet = await startFleet({
    clock,
    senders: await Promise.all(
      senders.map(async (spec) => ({ ...spec, address: await network.senderAddress(spec.name) })),
    ),
    propagation: parsePropagation("1s..10s", "propagation"),
    load: { protocol, rate: scale.rps, maxDuration: "60m", maxRequests: 4_000_000, ...mixes[protocol] },
    seed,
    onEvent: (event) => observed.sender(event),
    onFailure: (error) => died.abort(error),
  });
  let stage: Stage | undefined;
  const done: { cell: Cell; from: number; to: number }[] = [];
  let failure: unknown;
  try {
    const workload = manifestFromCommand([process.execPath, pod, protocol, file]);
    attach(file, cells[0]!);
    stage = startStage({
      clock,
      template: workload.template,
      replicas: scale.replicas,
      strategy: fewAtOnce,
      progressDeadlineSeconds: 90,
      listener: fleet,
      onEvent: (event) => observed.pod(event),
      network,
      env: { ...process.env, KUBERNETES_SERVICE_HOST: "198.18.0.1", NODE_COMPILE_CACHE: compiled },
    });
    await orAborted(stage.ready(), either);
    await informed(senders, stage, observed, either);
    await fleet.begin();
    await sleep(warmUp, undefined, { signal: either });
    let from = clock.now();
    for (const [index, cell] of cells.entries()) {
      if (options.until()) break;
      attach(file, cells[index + 1] ?? cell);
      await orAborted(stage.rollout(), either);
      await settled(observed, either);
      // The next rollout ends pods that every sender has chosen for a while, as they are when nobody hurries.
      await informed(senders, stage, observed, either);
      const to = clock.now();
      done.push({ cell, from, to });
      say(`${protocol} ${cell.library} ${cell.configuration}: ${((to - from) / 1_000).toFixed(1)} s`);
      from = to;
    }
  } catch (error) {
    failure = error;
  }
  try {
    const { records } = await fleet.stop();
    const turns = done.map(({ cell, from, to }, index): Turn => {
      // The time before tells what is usual of these pods.
      const since = done[index - 1]?.from ?? 0;
      const own = records.filter(({ intended }) => intended >= since && intended < to);
      const recording = {
        remedy: cell.library,
        records: own,
        podEvents: observed.podEvents.filter(({ at }) => at < to),
        senderEvents: observed.senderEvents.filter(({ at }) => at < to),
        countedFrom: from,
        scheduled: own.filter(({ intended }) => intended >= from).length,
        ended: to,
      };
      const result = account(recording, { description: cell.configuration, seed, timeline: false });
      return { cell, result, took: to - from };
    });
    return { turns, ...(failure === undefined ? {} : { failure }) };
  } finally {
    await fleet.close();
    await stage?.stop();
    await network.close();
    rmSync(folder, { recursive: true });
  }
}

function attach(file: string, { library, configuration }: Cell): void {
  const attached: Attached = { library, ...(configuration === "best" ? { delay: bestDelay } : {}) };
  writeFileSync(file, JSON.stringify(attached));
}
