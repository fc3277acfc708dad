import type { SenderEvent } from "@lameduck/accounting";
import type { Change } from "../senders/view.ts";
import type { DecidingSpec } from "../senders/spec.ts";
import type { LoadPlan } from "../plan.ts";
import type { RecordNews } from "./records.ts";
import type { Trial } from "./trials.ts";

/** A sender as the generator sees it: one that decides here, or the address of a proxy. */
export type GeneratorSender = { readonly name: string; readonly spacing: number } & (
  | { readonly spec: DecidingSpec }
  | {
      readonly proxy: {
        readonly address: string;
        readonly port: number;
        readonly namesRequests: boolean;
        /** The pod that an answer claims is recorded. It is compared with the names of pods afterwards. */
        readonly notesClaims?: boolean;
      };
    }
);

/** Messages from the fleet to the generator's process. */
export type ToGenerator =
  | {
      readonly type: "prepare";
      readonly origin: string;
      readonly seed: number;
      readonly plan: LoadPlan;
      readonly senders: readonly GeneratorSender[];
    }
  | { readonly type: "change"; readonly change: Change }
  | { readonly type: "begin" }
  /** `abandon`: without waiting for what is under way. */
  | { readonly type: "stop"; readonly abandon?: boolean };

/** Live counts. */
export interface Progress {
  /** Requests whose time has come. */
  readonly due: number;
  readonly finished: number;
  readonly lost: number;
  readonly notSent: number;
  readonly inFlight: number;
}

/** Answered and lost requests of a pod. */
export interface PodCount {
  readonly answered: number;
  readonly lost: number;
}

/** What has been added since it was told last, by pod; "" where the pod is not known. */
export type PodNews = ReadonlyMap<string, PodCount>;

/** Messages from the generator's process to the fleet. */
export type FromGenerator =
  | { readonly type: "ready" }
  | { readonly type: "begun"; readonly at: number }
  | { readonly type: "event"; readonly event: SenderEvent }
  | ({ readonly type: "progress" } & Counted)
  | ({ readonly type: "records" } & RecordNews)
  | ({ readonly type: "done" } & Counted);

interface Counted {
  readonly progress: Progress;
  readonly trials: readonly Trial[];
  readonly byPod: PodNews;
}
