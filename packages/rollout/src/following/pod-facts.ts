/** A moment as well as it is known: Date.now() of this machine, never before `from`, never after `to`. */
export interface Moment {
  readonly from: number;
  readonly to: number;
}

/** The end of a container. */
export interface ContainerEnd {
  readonly container: string;
  /** The kubelet reports whole seconds. */
  readonly at: Moment;
  readonly code: number;
  readonly signal: number | undefined;
  readonly reason: string;
}

/** What was seen of one pod. */
export interface PodFacts {
  readonly uid: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly addresses: readonly string[];
  readonly created: Moment;
  readonly readiness: readonly { readonly at: Moment; readonly ready: boolean }[];
  readonly starts: readonly { readonly container: string; readonly at: Moment }[];
  readonly deleted: { readonly at: Moment; readonly grace: number } | undefined;
  /** The kubelet's own word that it ends a container (event "Killing"): preStop hooks begin, or, without them, SIGTERM is sent. */
  readonly killing: readonly { readonly at: Moment; readonly message: string }[];
  readonly hookFailed: readonly {
    readonly at: Moment;
    readonly message: string;
    /** Undefined where the event does not say. */
    readonly container: string | undefined;
  }[];
  readonly ends: readonly ContainerEnd[];
  /** What the library or the init in it said of its phases. */
  readonly phases: readonly {
    readonly at: number;
    readonly phase: "lame-duck" | "closing" | "closed";
    readonly reason: string | undefined;
    readonly detail: Readonly<Record<string, unknown>>;
  }[];
  readonly gone: Moment | undefined;
}
