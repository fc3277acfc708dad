import type { Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import type { Workload } from "../model/workload.ts";
import { factOf, type Facts } from "./facts.ts";
import { ownStopOf } from "./lameduck.ts";
import { proxyHoldOf } from "./mesh.ts";
import { delaySetting } from "./settings.ts";

/** How long a container goes on serving after its deletion, as far as the manifest tells. */
export interface Hold {
  /** The parts that add up to it: the hook, then a delay in the app. */
  readonly parts: readonly Amount[];
  readonly least: number;
  /**
   * `fixed`: the parts are all of it. `evidence`: Lameduck, or a program that waits for its connections, decides. `unknown`: a hook or a setting
   * of which nobody here knows how long it takes.
   */
  readonly kind: "fixed" | "evidence" | "unknown";
}

export function holdOf(workload: Workload, container: Container, facts: Facts): Hold {
  const { hook } = container;
  const given = factOf(workload, "delay", facts);
  const proxy = given ? undefined : proxyHoldOf(workload, container);
  const setting = delaySetting(container);
  const delay = given ?? proxy?.amount ?? setting?.amount;
  const parts = [
    ...(hook && hook.serving.value > 0 ? [hook.serving] : []),
    ...(delay && delay.value > 0 ? [proxy ? delay : { ...delay, name: "delay in the app" }] : []),
  ];
  const least = parts.reduce((sum, { value }) => sum + value, 0);
  if (ownStopOf(container) || proxy?.untilIdle) return { parts, least, kind: "evidence" };
  if (given) return { parts, least, kind: "fixed" };
  return { parts, least, kind: (hook && !hook.isServingExact) || setting?.isGuess ? "unknown" : "fixed" };
}
