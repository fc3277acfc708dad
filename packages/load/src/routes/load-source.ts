import type { RequestRecord } from "@lameduck/accounting";
import type { PodCount } from "../generator/protocol.ts";
import type { Judgement } from "../worked.ts";

/** Live counts of a load. */
export interface LoadCounts {
  readonly sent: number;
  readonly failed: number;
  /** As far as answers name their pods; absent where nobody counts by pod. "" where the pod is not known. */
  readonly byPod?: ReadonlyMap<string, PodCount>;
}

/** What a load saw, in the end. */
export interface LoadSeen {
  /** Ids unique, times on the run's clock; pods only as far as answers named them. */
  readonly records: readonly RequestRecord[];
  /** Requests that were asked for and have no record. */
  readonly missing: number;
  /** What has to be known beside the figures, a sentence each. */
  readonly notes: readonly string[];
}

/** Facts known at the end that help to read records of other tools. */
export interface LoadEnd {
  /** The pod that has an address at a time of the run. */
  readonly podAt: (address: string, at: number) => string | undefined;
  /** What was watched, on the run's clock. */
  readonly from: number;
  readonly to: number;
  /** Without waiting for requests that are not answered yet: the user has interrupted. */
  readonly abandon?: boolean;
}

/** Anything that sends requests through routes during the rollout, or knows what others sent: generators here, a Job, a load tool's file. */
export interface LoadSource {
  /** Begins to send; resolves when it has begun. */
  begin(): Promise<void>;
  counts(): LoadCounts;
  /** What it has seen so far, some seconds old. */
  soFar(): readonly RequestRecord[];
  /** Whether requests work, route by route; nothing is known before the end of a load that others send. */
  judge(): Judgement;
  /** Ends the load in order and returns everything it saw. */
  stop(end: LoadEnd): Promise<LoadSeen>;
  /** Ends it at once, and leaves nothing behind. Safe to call at any time, also after `stop`. */
  close(): Promise<void>;
  /** Rejects when the load has failed and the run is worth nothing any more; never resolves. */
  readonly failed: Promise<never>;
  /** The address each route is connected to, by name, where there is one. */
  readonly addresses: ReadonlyMap<string, string>;
}
