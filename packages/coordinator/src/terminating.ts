import { causeTexts, workloadText } from "./termination-view.ts";
import type { BehindConsumer } from "./state/consumer-progress.ts";
import type { Terminations } from "./state/terminations.ts";
import type { ReleaseState } from "@lameduck/protocol";
import type { Termination } from "./state/termination.ts";

/** A pod that terminates now, for `lameduck status --pods`. */
export interface TerminatingPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly workload: string;
  readonly node: string | undefined;
  /** ISO 8601, by the API server's clock. */
  readonly deletedAt: string;
  readonly graceSeconds: number;
  /** What the pod is told. */
  readonly state: ReleaseState;
  /** As the pod reported it: "lame-duck", "closing", "closed"; undefined where it has reported nothing. */
  readonly phase: string | undefined;
  /** Why its hold has ended, as it reported. A coordinator of the release before does not say it. */
  readonly reason?: string | undefined;
  /** Consumers that have not let go, the first of them. */
  readonly waitsFor: readonly string[];
  readonly waitsForMore: number;
  /** All containers have ended; the object waits for these. */
  readonly isFinished: boolean;
  readonly finalizers: readonly string[];
}

export interface TerminatingPods {
  readonly version: 1;
  readonly pods: readonly TerminatingPod[];
  /** The number of pods that terminate and are not listed. */
  readonly more: number;
}

/** Pods that one answer lists, the oldest first: for each of them all nodes are walked along. */
const most = 200;
const mostNamed = 5;

export function terminatingPods(
  { all, progress }: Pick<Terminations, "all" | "progress">,
  now: number,
): TerminatingPods {
  const behind = (termination: Termination): readonly BehindConsumer[] => progress.behind(termination, now);
  const begun = [...all.values()]
    .filter(({ isHeldOnly }) => !isHeldOnly)
    .sort((a, b) => a.deletedAt - b.deletedAt);
  return {
    version: 1,
    pods: begun.slice(0, most).map((one) => described(one, behind)),
    more: Math.max(0, begun.length - most),
  };
}

function described(
  termination: Termination,
  behindOf: (termination: Termination) => readonly BehindConsumer[],
): TerminatingPod {
  const { namespace, name, uid, node, deletedAt, graceSeconds, state, reported, isFinished, finalizers } =
    termination;
  const isOpen = !isFinished && (state === "waiting" || state === "incomplete");
  const behind = isOpen ? behindOf(termination).map(words) : [];
  return {
    namespace,
    name,
    uid,
    workload: workloadText(termination),
    node,
    deletedAt: new Date(deletedAt).toISOString(),
    graceSeconds,
    state,
    phase: reported["phase"],
    reason: reported["reason"],
    waitsFor: behind.slice(0, mostNamed),
    waitsForMore: Math.max(0, behind.length - mostNamed),
    isFinished,
    finalizers,
  };
}

function words({ name, how, reason }: BehindConsumer): string {
  switch (how) {
    case "silent":
      return `${name} (silent)`;
    case "missing":
      return `${name} (${reason === undefined ? "" : `${reason}; `}nothing reports for it)`;
    case "young":
      return "all senders (the pod, or a way to it, is younger than 10 s)";
    case "host-network":
    case "host-port":
    case "published":
    case "unlisted":
      return `its own evidence (${causeTexts[how]})`;
    case "unread":
      return `${name} (may not be read, or is not read yet)`;
    case "finished":
      return "the kubelet (its containers have ended)";
    case "rules":
    case "state":
    case "syncs":
    case "time":
      return reason === undefined ? name : `${name} (${reason})`;
  }
}
