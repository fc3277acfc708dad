import type { InjectionSettings } from "../policy/settings.ts";
import type { ClusterFacts, Injection } from "./injection.ts";
import { planOf } from "./plan.ts";
import { patchOf } from "./patch.ts";

/**
 * What admission makes of a pod that is about to be created. Pure, and never fails: a pod that cannot be read is left alone.
 * @param pod as the API server sends it, or a pod template.
 */
export function inject(pod: unknown, settings: InjectionSettings, facts: ClusterFacts): Injection {
  const { plan, reasons, warnings } = planOf(pod, settings, facts);
  return { patch: plan === undefined ? [] : patchOf(plan), reasons, warnings };
}
