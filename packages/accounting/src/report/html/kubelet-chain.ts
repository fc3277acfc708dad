import { lastExit, type PodLife } from "../../evidence/pod-life.ts";

/** A moment of the pod's end, relative to its deletion. */
export interface Moment {
  readonly at: number;
  readonly words: string;
  readonly kind: "deleted" | "signal" | "phase" | "closed" | "killed" | "exit";
  /** From then on the pod does not accept any more. */
  readonly stops?: boolean;
}

/** A stretch of the pod's end, relative to its deletion. */
export interface Bar {
  readonly from: number;
  readonly to: number;
  readonly kind: "pre-stop" | "serving" | "closing";
  readonly words: string;
}

/** In the order of time; what happened within a millisecond of something more telling is left out. */
export function kubeletMoments(life: PodLife, origin: number): Moment[] {
  const moments = life.events
    .filter((event) => event.at >= origin)
    .flatMap((event): Moment[] => {
      const at = event.at - origin;
      switch (event.type) {
        case "deleted":
          return [{ at, words: "deleted", kind: "deleted" }];
        case "signalled":
          return [{ at, words: event.signal, kind: "signal" }];
        case "phase":
          return event.phase === "closing"
            ? [
                {
                  at,
                  words: event.reason ? `closing (${event.reason})` : "closing",
                  kind: "phase",
                  stops: true,
                },
              ]
            : [];
        case "listener-closed":
          return [{ at, words: "listener closed", kind: "closed", stops: true }];
        case "killed":
          return [{ at, words: "SIGKILL", kind: "killed", stops: true }];
        case "exited":
          return [{ at, words: event.code ? `exit ${event.code}` : "exit", kind: "exit", stops: true }];
        case "crashed":
          return [{ at, words: "crash", kind: "killed", stops: true }];
        case "created":
        case "started":
        case "listener-opened":
        case "ready":
        case "unready":
        case "pre-stop-begun":
        case "pre-stop-ended":
        case "gone":
          return [];
      }
    });
  const seen = new Set<string>();
  return moments.filter(({ words, at }) => {
    // For several containers the first signal and the last exit are enough.
    const last = words.startsWith("exit") && at + origin !== lastExit(life);
    if (last || seen.has(words)) return false;
    seen.add(words);
    return true;
  });
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
      words: lameDuck ? "lame duck: serving, and asking senders to leave" : "serving on after SIGTERM",
    },
    { from: stop, to: end, kind: "closing", words: "closing: finishing what is in flight" },
  ];
  return bars.filter((bar) => bar.to > bar.from);
}
