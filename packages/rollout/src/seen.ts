import type { StagePod } from "./actions/action.ts";
import type { Observation } from "./following/observation.ts";
import { isReady } from "./following/pods.ts";

/** The pods that an action may choose from: ready ones first, the oldest of them at the front. */
export function stagePods({ pods }: Observation): StagePod[] {
  return [...pods.live]
    .sort((a, b) => Number(isReady(b)) - Number(isReady(a)) || age(a) - age(b))
    .map(({ metadata, spec }) => ({ name: metadata.name, uid: metadata.uid, node: spec.nodeName }));
}

function age({ metadata }: { readonly metadata: { readonly creationTimestamp?: string } }): number {
  return Date.parse(metadata.creationTimestamp ?? "") || 0;
}

/** Slices and pods are followed by watches of their own: one may be a little ahead of the other. */
const watchSkew = 250;

/** From each pod's deletion until no EndpointSlice had it ready any more, milliseconds. */
export function withdrawals({ pods, endpoints }: Observation): number[] {
  return pods.facts.flatMap(({ name, deleted }) => {
    const withdrawn = deleted && endpoints.withdrawnFrom(name, deleted.at.to - watchSkew);
    return withdrawn === undefined ? [] : [Math.max(0, withdrawn - deleted!.at.to)];
  });
}
