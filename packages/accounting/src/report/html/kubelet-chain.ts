import { lastExit, type PodLife } from "../../evidence/pod-life.ts";
import type { PodEvent } from "../../model/timeline.ts";

/** A moment of the pod's end, relative to its deletion. */
export interface Moment {
  readonly at: number;
  readonly words: string;
  readonly kind: "deleted" | "signal" | "phase" | "closed" | "killed" | "exit";
  /** From then on the pod does not accept any more. */
  readonly stops?: boolean;
}

/** A stretch of the pod's end, relative to its deletion. */
interface Bar {
  readonly from: number;
  readonly to: number;
  readonly kind: "pre-stop" | "serving" | "closing";
  readonly words: string;
}

/** In the order of time; what happened within a millisecond of something more telling is left out. */
export function kubeletMoments(life: PodLife, origin: number): Moment[] {
  const seen = new Set<string>();
  return life.events.flatMap((event) => {
    const moment = event.at >= origin ? momentOf(event) : undefined;
    if (!moment || seen.has(moment.words)) return [];
    // For several containers the first signal and the last exit are enough.
    if (moment.words.startsWith("exit") && event.at !== lastExit(life)) return [];
    seen.add(moment.words);
    return { at: event.at - origin, ...moment };
  });
}

function momentOf(event: PodEvent): Omit<Moment, "at"> | undefined {
  switch (event.type) {
    case "deleted":
      return { words: "deleted", kind: "deleted" };
    case "signalled":
      return { words: event.signal, kind: "signal" };
    case "phase": {
      if (event.phase !== "closing") return undefined;
      return { words: event.reason ? `closing (${event.reason})` : "closing", kind: "phase", stops: true };
    }
    case "listener-closed":
      return { words: "listener closed", kind: "closed", stops: true };
    case "killed":
      return { words: "SIGKILL", kind: "killed", stops: true };
    case "exited":
      return { words: event.code ? `exit ${event.code}` : "exit", kind: "exit", stops: true };
    case "crashed":
      return { words: "crash", kind: "killed", stops: true };
    default:
      return undefined;
  }
}

export function kubeletBars(life: PodLife, origin: number): Bar[] {
  const end = (lastExit(life) ?? life.gone ?? origin) - origin;
  const stop = kubeletMoments(life, origin).find((moment) => moment.stops)?.at ?? end;
  const signalled = Math.min(life.signalled === undefined ? stop : life.signalled - origin, end);
  const hook = life.events.some((event) => event.type === "pre-stop-begun" && event.at >= origin);
  const lameDuck = life.events.some((event) => event.type === "phase" && event.phase === "lame-duck");
  const bars: Bar[] = [
    { from: 0, to: signalled, kind: "pre-stop", words: hook ? "preStop hook" : "before SIGTERM" },
    {
      from: Math.min(signalled, stop),
      to: stop,
      kind: "serving",
      words: lameDuck ? "lame duck: serving until traffic has moved away" : "serving on after SIGTERM",
    },
    { from: stop, to: end, kind: "closing", words: "closing: finishing what is in flight" },
  ];
  return bars.filter((bar) => bar.to > bar.from);
}
