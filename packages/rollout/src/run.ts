import { setTimeout as delay } from "node:timers/promises";
import { runClock, type PodEvent, type RunClock, type RunRecording } from "@lameduck/accounting";
import type { Action } from "./actions/action.ts";
import type { KubernetesClient, FollowCounts } from "@lameduck/kube";
import { Observation, type Allowed } from "./following/observation.ts";
import type { PodFacts } from "./following/pod-facts.ts";
import { podTimeline } from "./following/pod-timeline.ts";
import type { JoinCounts } from "./join.ts";
import type { LoadSeen, LoadSource, PodCount } from "@lameduck/load";
import { Completion, lookPeriodMs, RolloutStuck } from "./completion.ts";
import { pauseOf, replicaFailures, waitingReasons } from "./progress.ts";
import { record } from "./recording.ts";
import { takeBack, type Undone } from "./undo.ts";
import type { Target } from "./target.ts";

export interface RolloutSettings {
  readonly client: KubernetesClient;
  readonly target: Target;
  readonly action: Action;
  readonly allowed: Allowed;
  /** The load; undefined to watch only. */
  readonly load: ((clock: RunClock) => Promise<LoadSource>) | undefined;
  /** The load runs for this time before anything happens, and is not counted. */
  readonly warmUpMs: number;
  /** The load goes on for this time after the last pod has gone: senders that lag still lose requests. */
  readonly settleMs: number;
  /** The bound of one request. Default: 10,000. */
  readonly requestTimeoutMs?: number;
  /** The rollout is given up after this time. */
  readonly timeoutMs: number;
  /** Undoing the action is tried for this time. Default: 60,000. */
  readonly undoingMs?: number;
}

export interface RolloutProgress {
  readonly stage: "warming up" | "rolling" | "watching" | "settling" | "counting";
  readonly words: string;
  readonly sent: number;
  readonly failed: number;
  readonly terminating: number;
  readonly byPod: ReadonlyMap<string, PodCount>;
  /** On the run's clock. */
  readonly now: number;
  /** What has happened to the pods so far. */
  readonly podEvents: () => readonly PodEvent[];
  /** All that has been seen so far; undefined in the warm-up. It takes the longer, the more requests there were. */
  readonly recording: () => RunRecording | undefined;
}

interface RolloutHooks {
  readonly onProgress: (progress: RolloutProgress) => void;
  readonly say: (line: string) => void;
  /** Aborts when the user interrupts the run. Then what was created is removed, and what has been seen is accounted for. */
  readonly signal: AbortSignal;
}

/** How it ended. `words` say what was under way, and why pods wait. */
export type RolloutOutcome =
  | { readonly kind: "finished" }
  | { readonly kind: "not finished"; readonly words: string; readonly waiting: readonly string[] }
  | { readonly kind: "interrupted"; readonly words: string }
  | { readonly kind: "failed"; readonly error: Error };

export interface RolloutRun extends Undone {
  readonly outcome: RolloutOutcome;
  /** The action, or the wait for somebody else's, had begun. */
  readonly begun: boolean;
  readonly recording: RunRecording;
  readonly joined: JoinCounts;
  readonly follow: FollowCounts;
  readonly serverClock: Observation["clock"]["offset"];
  /** From each pod's deletion until it was ready in no EndpointSlice any more. */
  readonly withdrawalsMs: readonly number[];
  /** What the load itself leaves open, a sentence each. */
  readonly notes: readonly string[];
}

export const baselineMs = 2_000;
/** While requests are lost, senders may still send to pods that have gone. The run waits no longer than this for them. */
export const longestSettlingMs = 60_000;
/** A time without a loss that counts as settled. */
const calmMs = 5_000;

const noLoad: LoadSeen = { records: [], missing: 0, notes: [] };

/** Rolls the target under load and returns everything seen, however it ended. */
export async function runRollout(settings: RolloutSettings, hooks: RolloutHooks): Promise<RolloutRun> {
  return new Run(settings, hooks).conduct();
}

class Run {
  readonly #settings: RolloutSettings;
  readonly #hooks: RolloutHooks;
  readonly #clock = runClock();
  readonly #failure = new AbortController();
  readonly #signal: AbortSignal;
  #load: LoadSource | undefined;
  #stage: RolloutProgress["stage"] = "warming up";
  #countedFrom = Infinity;
  #paused: string | undefined;

  constructor(settings: RolloutSettings, hooks: RolloutHooks) {
    this.#settings = settings;
    this.#hooks = hooks;
    // The preflight has told it.
    this.#paused = settings.target.owner && pauseOf(settings.target.owner.object)?.words;
    this.#signal = AbortSignal.any([hooks.signal, this.#failure.signal]);
  }

  async conduct(): Promise<RolloutRun> {
    const { client, target, allowed } = this.#settings;
    const observation = await Observation.start({
      client,
      target,
      allowed,
      say: this.#hooks.say,
      onFailure: (error) => this.#failure.abort(error),
      signal: this.#signal,
    });
    const completion = new Completion(target, observation);
    const reporting = setInterval(() => this.#reportProgress(observation, completion), lookPeriodMs);
    const began = this.#clock.now();
    let begun = false;
    let outcome: RolloutOutcome;
    let undone: Undone = { undone: undefined, left: undefined };
    try {
      await this.#startLoad();
      await this.#pause(this.#load ? this.#settings.warmUpMs : 0);
      this.#countedFrom = this.#clock.now();
      // Counted time before the first deletion gives the rate through a pod, and what is lost without any termination.
      await this.#pause(this.#load ? baselineMs : 0);
      await this.#untilWorking();
      begun = true;
      outcome = await this.#roll(observation, completion);
      if (outcome.kind === "finished") await this.#settle();
    } catch (error) {
      outcome = this.#ended(error);
    } finally {
      undone = await takeBack(this.#settings);
    }
    if (this.#countedFrom === Infinity) this.#countedFrom = this.#clock.now();
    try {
      this.#stage = "counting";
      const ended = this.#clock.now();
      // What was seen of the pods is worth keeping, also without the requests.
      const { records, missing, notes } = await this.#stopLoad(observation, began, ended).catch(
        (error: unknown) => {
          if (outcome.kind !== "failed") outcome = this.#ended(error);
          const why = error instanceof Error ? error.message : String(error);
          return { ...noLoad, notes: [`What the load saw could not be read: ${why}`] };
        },
      );
      const { recording, joined } = this.#record(observation, { records, missing, ended });
      return {
        outcome,
        begun,
        recording,
        joined,
        follow: observation.counts,
        serverClock: observation.clock.offset,
        withdrawalsMs: observation.withdrawalsMs,
        notes: [...notes, ...observation.lost],
        ...undone,
      };
    } finally {
      clearInterval(reporting);
      await this.#load?.close();
      await observation.stop();
    }
  }

  async #startLoad(): Promise<void> {
    const load = await this.#settings.load?.(this.#clock);
    if (!load) return;
    this.#load = load;
    load.failed.catch((error: unknown) => this.#failure.abort(error));
    await load.begin();
  }

  /** Where no request of the warm-up works, nothing is rolled. @throws {LoadError} LAMEDUCK_NEVER_WORKED. */
  async #untilWorking(): Promise<void> {
    const end = Date.now() + (this.#settings.requestTimeoutMs ?? 10_000);
    while (this.#load?.judge().undecided && Date.now() < end) await this.#pause(lookPeriodMs);
    const { failure, notes = [] } = this.#load?.judge() ?? {};
    if (failure) throw failure;
    for (const note of notes) this.#hooks.say(`note: ${note}`);
  }

  async #stopLoad({ pods }: Observation, from: number, to: number): Promise<LoadSeen> {
    if (!this.#load) return noLoad;
    const epoch = this.#clock.fromEpoch(0);
    return this.#load.stop({
      podAt: (address, at) => pods.podAt(address, at - epoch),
      from,
      to,
      abandon: this.#hooks.signal.aborted,
    });
  }

  async #roll(observation: Observation, completion: Completion): Promise<RolloutOutcome> {
    const { action, target, client, timeoutMs } = this.#settings;
    this.#stage = action.name === "watch" ? "watching" : "rolling";
    const limit = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([this.#signal, limit]);
    let begun = action.name !== "watch";
    try {
      if (!begun) await completion.begun(signal);
      begun = true;
      await action.run({
        client,
        target,
        pods: () => observation.pods.candidates,
        replaced: (pods) =>
          completion.until(
            () => pods.every(({ uid }) => !observation.pods.has(uid)) && completion.isComplete(),
            signal,
          ),
        expectGeneration: (generation) => completion.expect(generation),
        serverTime: () => observation.clock.toServer(Date.now()),
        say: this.#hooks.say,
        signal,
      });
      await completion.until(() => completion.isComplete(), signal);
      return { kind: "finished" };
    } catch (error) {
      const stuck = error instanceof RolloutStuck;
      if (this.#signal.aborted || !(limit.aborted || stuck)) throw error;
      const words = begun ? completion.words() : "nobody began to roll it";
      const { workload, pods } = observation;
      return {
        kind: "not finished",
        words: stuck ? `${error.message}; ${words}` : words,
        waiting: [...(workload ? replicaFailures(workload) : []), ...waitingReasons(pods.live)],
      };
    }
  }

  async #settle(): Promise<void> {
    if (!this.#load) return;
    this.#stage = "settling";
    const began = Date.now();
    let lastLoss = -Infinity;
    let failed = this.#load.counts().failed;
    for (;;) {
      await this.#pause(lookPeriodMs);
      const now = Date.now();
      if (this.#load.counts().failed > failed) lastLoss = now;
      failed = this.#load.counts().failed;
      const long = now - began;
      if (
        long >= Math.max(longestSettlingMs, this.#settings.settleMs) ||
        (long >= this.#settings.settleMs && now - lastLoss >= calmMs)
      )
        return;
    }
  }

  #ended(error: unknown): RolloutOutcome {
    if (this.#hooks.signal.aborted) {
      const { action, target } = this.#settings;
      const goesOn = this.#stage === "warming up" ? undefined : action.goesOn(target);
      return { kind: "interrupted", words: goesOn ?? "nothing goes on in the cluster" };
    }
    const reason: unknown = this.#failure.signal.aborted ? this.#failure.signal.reason : error;
    return { kind: "failed", error: reason instanceof Error ? reason : new Error(String(reason)) };
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#signal });
  }

  #record(
    observation: Observation,
    { ended, ...seen }: Pick<LoadSeen, "records" | "missing"> & { readonly ended: number },
  ): ReturnType<typeof record> {
    const { target, action } = this.#settings;
    return record({
      clock: this.#clock,
      target,
      why: action.name,
      observation,
      ...seen,
      addresses: this.#load?.addresses ?? new Map(),
      countedFrom: this.#countedFrom,
      ended: Math.max(ended, this.#countedFrom),
    });
  }

  #soFar(observation: Observation): RunRecording {
    const records = this.#load?.soFar() ?? [];
    return this.#record(observation, { records, missing: 0, ended: this.#clock.now() }).recording;
  }

  #podEvents(facts: readonly PodFacts[]): readonly PodEvent[] {
    const { target, action } = this.#settings;
    const epoch = this.#clock.fromEpoch(0);
    return facts.flatMap((pod) =>
      podTimeline(pod, { spec: target.podSpec, why: action.name, time: (at) => at + epoch }),
    );
  }

  #reportProgress(observation: Observation, completion: Completion): void {
    const { pods } = observation;
    const words = completion.progress()?.words ?? "";
    const paused = completion.paused();
    if (paused !== undefined && paused !== this.#paused) this.#hooks.say(`note: ${words}`);
    this.#paused = paused;
    const { sent, failed, byPod = new Map() } = this.#load?.counts() ?? { sent: 0, failed: 0 };
    this.#hooks.onProgress({
      stage: this.#stage,
      words,
      sent,
      failed,
      terminating: pods.terminating,
      byPod,
      now: this.#clock.now(),
      podEvents: () => this.#podEvents(pods.facts),
      recording: () => (this.#countedFrom === Infinity ? undefined : this.#soFar(observation)),
    });
  }
}
