import type { Rule } from "../rule.ts";
import { deregistrationTooShort } from "./deregistration-too-short.ts";
import { disruptionBudget } from "./disruption-budget.ts";
import { externalTrafficLocal } from "./external-traffic-local.ts";
import { graceTooShort } from "./grace-too-short.ts";
import { hookNeedsBinary } from "./hook-needs-binary.ts";
import { keepAliveTooShort } from "./keep-alive-too-short.ts";
import { lameDuckTooShort } from "./lame-duck-too-short.ts";
import { lameduckMisconfigured } from "./lameduck-misconfigured.ts";
import { livenessBeforeReadiness } from "./liveness-before-readiness.ts";
import { newPodsTooSoon } from "./new-pods-too-soon.ts";
import { noLameDuck } from "./no-lame-duck.ts";
import { noReadinessProbe } from "./no-readiness-probe.ts";
import { noSurgeRoom } from "./no-surge-room.ts";
import { noticeTooShort } from "./notice-too-short.ts";
import { policyCapsGrace } from "./policy-caps-grace.ts";
import { prestopExceedsGrace } from "./prestop-exceeds-grace.ts";
import { probesAskTheSame } from "./probes-ask-the-same.ts";
import { publishNotReady } from "./publish-not-ready.ts";
import { readinessFailsOnShutdown } from "./readiness-fails-on-shutdown.ts";
import { reconnectStorm } from "./reconnect-storm.ts";
import { replacedInPlace } from "./replaced-in-place.ts";
import { serviceUpstream } from "./service-upstream.ts";
import { shellSwallowsTerm } from "./shell-swallows-term.ts";
import { sidecarStopsFirst } from "./sidecar-stops-first.ts";
import { termNotGraceful } from "./term-not-graceful.ts";

/** In the order of the documentation: time, signals, probes, rollouts, senders, the cluster, Lameduck itself. */
export const rules: readonly Rule[] = [
  prestopExceedsGrace,
  graceTooShort,
  noLameDuck,
  lameDuckTooShort,
  shellSwallowsTerm,
  termNotGraceful,
  hookNeedsBinary,
  sidecarStopsFirst,
  keepAliveTooShort,
  deregistrationTooShort,
  noReadinessProbe,
  livenessBeforeReadiness,
  probesAskTheSame,
  readinessFailsOnShutdown,
  noSurgeRoom,
  newPodsTooSoon,
  replacedInPlace,
  reconnectStorm,
  disruptionBudget,
  publishNotReady,
  externalTrafficLocal,
  serviceUpstream,
  noticeTooShort,
  policyCapsGrace,
  lameduckMisconfigured,
];

export function ruleNamed(id: string): Rule | undefined {
  return rules.find((rule) => rule.id === id);
}
