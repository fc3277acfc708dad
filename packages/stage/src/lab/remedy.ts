import type { Adjustments } from "../adjust.ts";

/** What is being rolled, as far as a remedy must know. */
export interface App {
  /** `sample`: the bundled server, which obeys SHUTDOWN. `node`: a Node program. `other`: any other software. */
  readonly kind: "sample" | "node" | "other";
  /** The name of the program, without its folder. */
  readonly program: string;
  readonly graceSeconds: number;
  /** The --import specifier of the zero-code library, for Node programs. */
  readonly register?: string;
  /** Path of the lameduck-init binary, where there is one for this machine. */
  readonly init?: string;
}

/** What a remedy changes in the pod. */
export type Adjustment = Pick<Adjustments, "preStopSleepSeconds" | "env" | "commandPrefix">;

export interface Remedy {
  readonly name: string;
  /** What is done, in one sentence. */
  readonly description: string;
  /** What only a program that obeys SHUTDOWN can do. */
  readonly sampleOnly?: true;
  /** @returns what to change, or why the remedy cannot be had for this app. */
  adjust(app: App): Adjustment | { readonly unavailable: string };
}
