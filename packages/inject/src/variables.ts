import type { InjectionSettings } from "./policy/settings.ts";
import { isMap, coordinatorVariable } from "@lameduck/protocol";
import { initVariableOf, options } from "@lameduck/options";
import type { Action } from "./action.ts";
import type { ClusterFacts, PodsCoordinator, Times } from "./injection.ts";
import { mapIn, mapsIn, preStopOf } from "./pod.ts";
import { handedOnBy, longestSeconds } from "./times.ts";

export type EnvVariable =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly valueFrom: { readonly fieldRef: { readonly fieldPath: string } } };

/** Of the init alone. */
export const probePeriodVariable = initVariableOf("probePeriod");
/** In the order in which their periods are told. */
export const probeFields = ["readinessProbe", "livenessProbe", "startupProbe"] as const;
/** Those with which the kubelet sends data on a connection of its own. */
export const probeActions = ["httpGet", "grpc"] as const;
export const usualProbePeriod = options.probePeriod.default / 1_000;
/** No hold is long enough for two probes of a longer one. */
export const longestProbePeriod = 3_600;

/** Variables for the library and the init, which cannot know the pod's times; what is set already stays. */
export function variablesFor(
  { does, isBehind, container }: Action,
  hookSeconds: number | undefined,
  { grace, hold }: Times,
  settings: InjectionSettings,
  { coordinator }: Pick<ClusterFacts, "coordinator">,
): EnvVariable[] {
  const known = mapsIn(container["env"]).map(({ name }) => name);
  const own = ownHookSeconds(container);
  const periods = probePeriods(container);
  // A hook that takes all of the grace period leaves no time that could be told.
  const preStop =
    hookSeconds ?? (own !== undefined && own >= Math.min(grace, longestSeconds) ? undefined : own);
  const wanted = [
    { name: options.grace.variable, value: `${Math.min(grace, longestSeconds)}s` },
    ...(preStop === undefined ? [] : [{ name: options.prestop.variable, value: `${preStop}s` }]),
    ...(periods === "" ? [] : [{ name: probePeriodVariable, value: periods }]),
    ...(does === "instrument"
      ? [
          { name: options.cap.variable, value: `${hold}s` },
          ...handedOnBy(settings, hold).map(({ variable, value }) => ({ name: variable, value })),
        ]
      : []),
    // A sidecar that only follows others has nothing to ask.
    ...(coordinator === undefined || (does === "follow" && !isBehind) || known.includes(coordinatorVariable)
      ? []
      : coordinatorVariables(coordinator)),
  ];
  return wanted.filter(({ name }) => !known.includes(name));
}

/** How long the container's own hook takes; undefined where nobody knows. */
function ownHookSeconds(container: Readonly<Record<string, unknown>>): number | undefined {
  const preStop = preStopOf(container);
  if (preStop === undefined) return 0;
  const sleep = preStop["sleep"];
  if (!isMap(sleep)) return undefined;
  const seconds = sleep["seconds"] ?? 0;
  return typeof seconds === "number" && Number.isInteger(seconds) && seconds >= 0 ? seconds : undefined;
}

/** Without them a pod that is younger than four periods takes its probes for traffic. */
function probePeriods(container: Readonly<Record<string, unknown>>): string {
  return probeFields
    .map((field) => mapIn(container[field]))
    .filter((probe) => probeActions.some((action) => isMap(probe[action])))
    .map(({ periodSeconds }) => periodSeconds || usualProbePeriod)
    .filter((period) => isPeriod(period))
    .map((period) => `${period}s`)
    .join(",");
}

function isPeriod(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= longestProbePeriod;
}

/** What a pod needs to ask it; a preStop hook inherits its container's environment. */
export function coordinatorVariables({ address, mode }: PodsCoordinator): EnvVariable[] {
  return [
    { name: coordinatorVariable, value: address },
    ofPod(options.podName.variable, "metadata.name"),
    ofPod(options.podNamespace.variable, "metadata.namespace"),
    ofPod(options.podUid.variable, "metadata.uid"),
    ...(mode === "consistency" ? consistent : []),
  ];
}

/** Stops on the cluster's word alone, however little traffic there was to learn from. */
const consistent: readonly EnvVariable[] = [
  { name: options.mode.variable, value: "consistency" },
  { name: options.policy.variable, value: "acknowledged" },
];

function ofPod(name: string, fieldPath: string): EnvVariable {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
