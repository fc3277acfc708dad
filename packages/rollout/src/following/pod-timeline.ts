import type { PodEvent } from "@lameduck/accounting";
import type { Container, PodSpec } from "@lameduck/kube";
import type { ContainerEnd, Moment, PodFacts } from "./pod-facts.ts";

/** What the load knows of a pod in addition to the API server, on the run's clock. */
export interface Hints {
  /** The last time it certainly answered. */
  readonly lastAnswer?: number;
  /** When connections that certainly were the pod's were cut, in order. */
  readonly cuts?: readonly number[];
  /** When connections to an unknown pod found nobody at an address: some pod's network had been removed. In order. */
  readonly nobody?: readonly number[];
}

interface TimelineOptions {
  readonly spec: PodSpec;
  readonly why: string;
  /** Date.now() as a time of the run. */
  readonly time: (epoch: number) => number;
  readonly hints?: Hints;
}

/**
 * A deletion is seen some milliseconds after the kubelet and others have seen it. So an effect of the deletion may be seen this much
 * earlier than the deletion.
 */
const watchDelayMs = 250;

/** From the end of the last container until the kubelet has taken the pod's network down; the API server reports the deletion only later. */
const teardownMs = 300;

/** Why a pod was deleted that was terminating when the run began. */
const beforeTheRun = "before the run";

/** SIGKILL: 128 + 9. */
const killedCode = 137;

/** Where a moment is known to the second only, evidence of the load may lie outside of it by this much. */
const slackMs = 150;

/** What happened to a pod, in the words of the model. What the API server does not report is left out, not guessed. */
export function podTimeline(facts: PodFacts, options: TimelineOptions): PodEvent[] {
  const { spec, time } = options;
  const pod = facts.name;
  const app = appContainers(spec);
  const port = app[0]?.ports?.[0]?.containerPort ?? 0;
  const at = (moment: Moment): number => time((moment.from + moment.to) / 2);
  const created = time(facts.created.from);
  const events: PodEvent[] = [{ at: created, pod, type: "created" }];
  for (const { container, at: when } of facts.starts)
    events.push({ at: Math.max(created, at(when)), pod, type: "started", container });
  facts.readiness.forEach(({ at: when, ready }, index) => {
    events.push({ at: at(when), pod, type: ready ? "ready" : "unready" });
    // After a restart in place the listener is open again when it is ready again, at the latest.
    if (ready && index > 0 && facts.ends.some((end) => end.at.from <= when.to))
      events.push({ at: at(when), pod, type: "listener-opened", port });
  });
  const deleted = momentOfDeletion(facts, options);
  if (facts.deleted && deleted !== undefined)
    events.push({
      at: deleted,
      pod,
      type: "deleted",
      grace: facts.deleted.grace,
      why: facts.isLeftover ? beforeTheRun : options.why,
    });
  events.push(...stopping(facts, app, at));
  for (const { at: when, ...phase } of facts.phases)
    events.push({ at: time(when), pod, type: "phase", ...phase });
  for (const end of facts.ends)
    if (app.some(({ name }) => name === end.container)) events.push(...ending(facts, end, options));
  // A container that failed in place leaves its pod where it was.
  if (facts.gone && deleted !== undefined)
    events.push({ at: momentGone(events, time(facts.gone.to), options.hints), pod, type: "gone" });
  return events.sort((a, b) => a.at - b.at);
}

/** The time at which the watch saw it, or a little before, where evidence shows that it had been written by then. */
function momentOfDeletion(
  { deleted, killing, phases }: PodFacts,
  { time, hints }: TimelineOptions,
): number | undefined {
  if (!deleted) return undefined;
  const seen = time(deleted.at.to);
  const reported = [...killing.map(({ at }) => at.to), ...phases.map(({ at }) => at)];
  const signs = [...reported.map(time), ...(hints?.cuts ?? [])];
  return Math.min(seen, ...signs.filter((at) => at >= seen - watchDelayMs));
}

function momentGone(events: readonly PodEvent[], reported: number, { nobody }: Hints = {}): number {
  const end = events.findLast(({ type }) => type === "exited")?.at;
  if (end === undefined) return reported;
  const latest = Math.max(end, Math.min(reported, end + teardownMs));
  return nobody?.find((at) => at >= end && at <= latest) ?? latest;
}

/** Containers that serve: those with ports, where any has one. */
export function appContainers({ containers }: PodSpec): readonly Container[] {
  const serving = containers.filter(({ ports }) => (ports?.length ?? 0) > 0);
  return serving.length > 0 ? serving : containers;
}

/** When hooks began and, as far as it follows from the pod's own specification, when SIGTERM was sent. */
function stopping(facts: PodFacts, app: readonly Container[], at: (moment: Moment) => number): PodEvent[] {
  const pod = facts.name;
  const events: PodEvent[] = [];
  for (const { name, lifecycle } of app) {
    const word = facts.killing.find(({ message }) => message.includes(`container ${name}`));
    if (!word) continue;
    const begun = at(word.at);
    const hook = lifecycle?.preStop;
    const failed = facts.hookFailed.find(({ container = name }) => container === name);
    if (!hook) events.push({ at: begun, pod, type: "signalled", container: name, signal: "SIGTERM" });
    else events.push({ at: begun, pod, type: "pre-stop-begun", container: name });
    if (hook && failed) {
      const over = at(failed.at);
      const detail = failed.message;
      events.push({ at: over, pod, type: "pre-stop-ended", container: name, result: "failed", detail });
      events.push({ at: over, pod, type: "signalled", container: name, signal: "SIGTERM" });
    } else if (hook?.sleep) {
      const over = begun + hook.sleep.seconds * 1_000;
      // A hook that outlasts the pod never ended.
      if (facts.ends.every((end) => at(end.at) > over)) {
        events.push({ at: over, pod, type: "pre-stop-ended", container: name, result: "done" });
        events.push({ at: over, pod, type: "signalled", container: name, signal: "SIGTERM" });
      }
    }
  }
  return events;
}

function ending(facts: PodFacts, end: ContainerEnd, { time, hints }: TimelineOptions): PodEvent[] {
  const pod = facts.name;
  const { container, code, reason } = end;
  const at = momentOfEnd(end, time, hints);
  if (!facts.deleted || end.at.to < facts.deleted.at.from)
    return [{ at, pod, type: "crashed", container, detail: reason === "" ? `exit code ${code}` : reason }];
  const deleted = time(facts.deleted.at.to);
  const atLimit = code === killedCode && at >= deleted + facts.deleted.grace - 2_000;
  return [
    ...(atLimit ? [{ at, pod, type: "killed", container } as const] : []),
    {
      at,
      pod,
      type: "exited",
      container,
      ...(code === killedCode ? { signal: "SIGKILL" } : { code }),
      // "Error" and "Completed" say no more than the code.
      ...(code === killedCode && reason !== "" && reason !== "Error" ? { detail: reason } : {}),
    },
  ];
}

/** The kubelet tells the second of the end. Answers and cut connections of the load narrow it down. */
function momentOfEnd({ at }: ContainerEnd, time: (epoch: number) => number, hints: Hints = {}): number {
  const from = Math.max(time(at.from), Math.min(hints.lastAnswer ?? -Infinity, time(at.to)));
  const to = time(at.to);
  const cut = hints.cuts?.find((one) => one >= from - slackMs && one <= to + slackMs);
  if (cut !== undefined) return cut;
  const nobody = hints.nobody?.find((one) => one >= from && one <= to) ?? Infinity;
  return Math.min((from + to) / 2, nobody);
}
