import type { StopReason } from "@lameduck/drain";

/** What happened to a pod, in the order it happened. Times are milliseconds on the run's clock. */
export type PodEvent = { readonly at: number; readonly pod: string } & (
  | { readonly type: "created" }
  | { readonly type: "started"; readonly container: string; readonly pid?: number }
  | { readonly type: "listener-opened"; readonly port: number }
  | { readonly type: "ready" }
  | { readonly type: "unready" }
  /** deletionTimestamp written: t = 0 of the termination. */
  | { readonly type: "deleted"; readonly grace: number; readonly why: string }
  | { readonly type: "pre-stop-begun"; readonly container: string }
  | {
      readonly type: "pre-stop-ended";
      readonly container: string;
      readonly result: "done" | "failed" | "cut";
      readonly detail?: string;
    }
  | { readonly type: "signalled"; readonly container: string; readonly signal: string }
  /** Reported by Lameduck's library or init inside the pod. */
  | {
      readonly type: "phase";
      readonly phase: "lame-duck" | "closing" | "closed";
      readonly reason?: StopReason;
      readonly detail?: Readonly<Record<string, unknown>>;
    }
  | { readonly type: "listener-closed"; readonly port: number }
  /** SIGKILL at the end of the grace period. */
  | { readonly type: "killed"; readonly container: string }
  | {
      readonly type: "exited";
      readonly container: string;
      readonly code?: number;
      readonly signal?: string;
      /** Why, if it is known: "OOMKilled". */
      readonly detail?: string;
    }
  | { readonly type: "crashed"; readonly container: string; readonly detail: string }
  /** All containers have stopped and the address is no longer there. */
  | { readonly type: "gone" }
);

/** What a sender did about a pod. */
export type SenderEvent = { readonly at: number; readonly sender: string } &
  /** It may choose the pod from now on. */
  (
    | { readonly type: "added"; readonly pod: string }
    /** It no longer chooses the pod for new connections. */
    | { readonly type: "converged"; readonly pod: string }
    /** It cut established connections to the pod. */
    | { readonly type: "severed"; readonly pod: string; readonly connections: number }
    /** It was left without a single endpoint, or has one again. */
    | { readonly type: "empty" }
    | { readonly type: "filled" }
    /** It reloaded itself; connections may have been cut by that, where known until when. */
    | { readonly type: "reloaded"; readonly until?: number }
  );
