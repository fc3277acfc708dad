import { setTimeout as delay } from "node:timers/promises";
import { startStage, type Stage } from "../stage.ts";
import type { Network } from "../network/network.ts";
import type { PodNames } from "../pod-names.ts";
import { runClock, type RunRecording } from "@lameduck/accounting";
import { orAborted } from "@lameduck/drain/common";
import { manyFailures, type RecordNews } from "@lameduck/load";
import type { Adjustment, Remedy } from "./remedies.ts";
import { startFleet, type SenderFleet } from "../senders/fleet.ts";
import { informed, Observed, settled } from "./observed.ts";
import type { LabProgress, LabSeen, LabSettings } from "./settings.ts";

/** Longer than the generator's counts take to come. */
const newsPeriodMs = 300;

interface RemedyRun {
  readonly settings: LabSettings;
  readonly remedy: Remedy;
  readonly adjustment: Adjustment;
  readonly network: Network;
  readonly names: PodNames;
  readonly onProgress: (progress: LabProgress) => void;
  /** Something worth a line that stays. */
  readonly onNote: (line: string) => void;
  readonly onRecords: ((news: RecordNews) => void) | undefined;
  readonly signal: AbortSignal;
}

interface RemedySeen {
  readonly recording: RunRecording;
  /** Why it did not come to its end, if it did not; the recording ends at that moment. */
  readonly failure?: unknown;
}

/**
 * Rolls the workload under one remedy, from an empty stage to an empty stage.
 * @throws what ended it before anything could be counted.
 */
export async function runRemedy(run: RemedyRun): Promise<RemedySeen> {
  const { settings, network, signal } = run;
  const clock = runClock();
  const observed = new Observed();
  const failure = new AbortController();
  const stopping = AbortSignal.any([signal, failure.signal]);
  // The load outlives an interrupt once there is something to be counted.
  const unused = new AbortController();
  const giveUp = (): void => unused.abort(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener("abort", giveUp, { once: true });
  const fleet = await startFleet({
    clock,
    senders: await withAddresses(settings, network),
    propagation: settings.propagation,
    load: settings.load,
    seed: settings.seed,
    onEvent: (event) => observed.sender(event),
    onFailure: (error) => failure.abort(error),
    onRecords: run.onRecords,
    signal: unused.signal,
  });
  let stage: Stage | undefined;
  let countedFrom: number | undefined;
  try {
    const progress = follow(run, fleet, () => ({
      podEvents: observed.podEvents,
      senderEvents: observed.senderEvents,
      terminating: observed.terminating,
      countedFrom,
      now: clock.now(),
    }));
    void progress("starting", 0);
    stage = startStage({
      clock,
      ...settings.workload,
      listener: fleet,
      onEvent: (event) => observed.pod(event),
      signal: stopping,
      network,
      names: run.names,
      adjustments: { ...run.adjustment, overrides: settings.env ?? {} },
    });
    await orAborted(stage.ready(), stopping);
    await progress("starting", 0, informed(settings.senders, stage, observed, stopping));
    await fleet.begin();
    await progress("warming up", 0, warmedUp(run, { fleet, stage }, stopping));
    countedFrom = clock.now();
    signal.removeEventListener("abort", giveUp);
    for (let rollout = 1; rollout <= settings.rollouts; rollout++)
      await progress("rolling", rollout, orAborted(stage.rollout(), stopping));
    await progress("settling", settings.rollouts, settled(observed, stopping));
    const { records, ended } = await progress(
      "counting",
      settings.rollouts,
      orAborted(fleet.stop(), stopping),
    );
    mustWork({ fleet, stage }, manyFailures);
    return { recording: recorded(run, observed, { records, countedFrom, ended }) };
  } catch (error) {
    const why: unknown = stopping.aborted ? stopping.reason : error;
    if (countedFrom === undefined || failure.signal.aborted) throw why;
    const ended = clock.now();
    // A user who interrupts does not wait for the time-outs of requests without an answer.
    const { records } = await fleet.stop(true);
    return { recording: recorded(run, observed, { records, countedFrom, ended }), failure: why };
  } finally {
    signal.removeEventListener("abort", giveUp);
    await fleet.close();
    await stage?.stop();
  }
}

interface Measured {
  readonly fleet: SenderFleet;
  readonly stage: Stage;
}

/** The warm-up is the measure. It lasts until some request of each kind has ended. @throws {LoadError} LAMEDUCK_NEVER_WORKED. */
async function warmedUp(
  { settings, onNote }: RemedyRun,
  measured: Measured,
  signal: AbortSignal,
): Promise<void> {
  const { fleet, stage } = measured;
  await delay(settings.warmUp, undefined, { signal });
  const end = Date.now() + fleet.timeout;
  // What is known of the load here is a moment old.
  do await delay(newsPeriodMs, undefined, { signal });
  while (fleet.judge().undecided && !stage.crash && Date.now() < end);
  for (const line of mustWork(measured)) onNote(line);
}

/** @returns what is worth knowing of the answers. */
function mustWork({ fleet, stage }: Measured, least?: number): readonly string[] {
  const { failure, undecided, notes } = fleet.judge(
    stage.pods.flatMap(({ output }) => output),
    least,
  );
  const { crash } = stage;
  if (crash && (failure || undecided)) throw crash;
  if (failure) throw failure;
  return notes;
}

/** What was under way at the end may have ended because of it, and is left out. */
function recorded(
  { remedy }: RemedyRun,
  { podEvents, senderEvents }: Observed,
  { records, countedFrom, ended }: Pick<RunRecording, "records" | "countedFrom" | "ended">,
): RunRecording {
  const known = records.filter(({ intended, finished = intended }) => Math.max(intended, finished) <= ended);
  return {
    remedy: remedy.name,
    records: known,
    podEvents: podEvents.filter(({ at }) => at <= ended),
    senderEvents: senderEvents.filter(({ at }) => at <= ended),
    countedFrom,
    scheduled: known.filter(({ intended }) => intended >= countedFrom).length,
    ended,
  };
}

async function withAddresses(settings: LabSettings, network: Network): Promise<LabSettings["senders"]> {
  return Promise.all(
    settings.senders.map(async (spec) => ({
      ...spec,
      address: spec.address ?? (await network.senderAddress(spec.name)),
    })),
  );
}

type Follow = <T = void>(stage: LabProgress["stage"], rollout: number, work?: Promise<T>) => Promise<T>;

/** Reports several times a second while `work` goes on. */
function follow(
  { remedy, onProgress }: RemedyRun,
  fleet: SenderFleet,
  look: () => LabSeen & { readonly terminating: number },
): Follow {
  return async (stage, rollout, work) => {
    const showProgress = (): void => {
      const { finished, lost } = fleet.progress();
      const { terminating, ...seen } = look();
      onProgress({
        remedy: remedy.name,
        stage,
        rollout,
        sent: finished,
        failed: lost,
        terminating,
        byPod: fleet.byPod,
        seen,
      });
    };
    showProgress();
    const timer = setInterval(showProgress, 250);
    try {
      return (await work) as never;
    } finally {
      clearInterval(timer);
    }
  };
}
