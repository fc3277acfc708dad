import { observedPort } from "@lameduck/audit";
import type { InjectionSettings } from "./policy/settings.ts";
import { holdMethodOf, type HoldMethod } from "./init-volume.ts";
import { actionsOf, type Action } from "./action.ts";
import { hookOf, mostAwaited, orderMount, sharedOrder } from "./hook.ts";
import type { ClusterFacts, Reason, Times } from "./injection.ts";
import { nodeOptionsFor } from "./node-options.ts";
import { formerSleepAnnotation, injectedAnnotation } from "@lameduck/protocol";
import { mapsIn, textOf, undoAnnotation, type PodView } from "./pod.ts";
import { type EnvVariable, variablesFor } from "./variables.ts";
import { whyAwaited } from "./former-sleep.ts";
import { graceOf, spreadIn, timesOf, usualGrace, type FormerTimes } from "./times.ts";

/** What is added to one container. */
export interface ContainerPlan {
  readonly index: number;
  readonly preStop: Readonly<Record<string, unknown>> | undefined;
  /** The hook comes in place of one of the container's own. */
  readonly replaces: boolean;
  readonly env: readonly EnvVariable[];
  /** A variable that is there gets another value. */
  readonly changed: { readonly at: number; readonly value: string } | undefined;
  readonly mounts: readonly Readonly<Record<string, unknown>>[];
}

/** What is added to a pod: the same for every renderer. */
export interface Plan {
  readonly pod: PodView;
  readonly containers: readonly ContainerPlan[];
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
  readonly initContainers: readonly Readonly<Record<string, unknown>>[];
  /** undefined: stays as it is. */
  readonly grace: number | undefined;
  readonly times: Times;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Planned {
  /** undefined: the pod is left alone. */
  readonly plan: Plan | undefined;
  readonly reasons: readonly Reason[];
  readonly warnings: readonly string[];
}

/** @param view of `podToInject`. */
export function planOf(view: PodView | Reason, settings: InjectionSettings, facts: ClusterFacts): Planned {
  if ("code" in view) return leftAlone(view);
  if (!settings.inject) return leftAlone({ code: "opted-out", text: "inject is off" });
  const exposure = exposureOfPod(view, settings, facts);
  if (exposure === undefined) return leftAlone({ code: "not-exposed", text: notExposed(settings, facts) });

  const carried = holdMethodOf(view, settings, facts);
  const { actions, reasons } = actionsOf(view, {
    mayInstrument: settings.instrumentNode && carried.kind === "wait",
    replaces: replacing(view, settings, carried),
    exposedBy: facts.exposedBy,
  });
  const stopping = actions.filter(({ does }) => does === "hold" || does === "instrument");
  if (!actions.some(({ does }) => does !== "nothing" && (does !== "follow" || view.isInjected)))
    return leftAlone({ code: "nothing-to-do", text: "no container is left that could be held" }, ...reasons);
  const graceBefore = graceOf(view.spec);
  const former = formerTimes(actions, graceBefore, whyAwaited(view, facts.workloadKind) !== undefined);
  const times = timesOf(
    graceBefore,
    carried.kind === "sleep" ? "sleep" : "wait",
    settings,
    facts,
    stopping.length > 0 && !view.isInjected,
    former,
    spreadIn(view.containers),
  );
  if (stopping.length > 0 && carried.kind === "nothing")
    return leftAlone({ code: "no-init-volume", text: carried.because }, ...reasons);
  if (stopping.length > 0 && times.hold < 1)
    return leftAlone(
      { code: "no-time", text: `a grace period of ${times.grace} s leaves no time to hold` },
      ...reasons,
    );
  return assemble(view, actions, carried, times, settings, facts, reasons);
}

/** True, or why sleeps stay. */
function replacing(
  { isInjected }: PodView,
  { existingSleep }: InjectionSettings,
  { kind, because }: HoldMethod,
): true | string {
  if (existingSleep !== "replace") return "existingSleep: replace would put a hold in its place";
  if (kind !== "wait")
    return `only lameduck-init could take its place${because === "" ? "" : `: ${because}`}`;
  // A sidecar that comes later, whose sleep may be as long as what the app's hook does.
  return isInjected ? "the pod was injected before, and a hold here could not wait for those" : true;
}

/** @returns undefined where no sleep is replaced. */
function formerTimes(actions: readonly Action[], grace: number, isLongest: boolean): FormerTimes | undefined {
  const sleeps = actions.flatMap(({ former }) => (former ? [Math.min(former.seconds, grace)] : []));
  if (sleeps.length === 0) return undefined;
  // A sidecar needs no time of its own behind the app's.
  const held = actions.filter(({ does, former }) => does === "hold" || does === "instrument" || former);
  const shutdowns = held.map(({ former }) => grace - Math.min(former?.seconds ?? 0, grace));
  return { sleep: Math.max(...sleeps), shutdown: Math.max(...shutdowns), isLongest };
}

export function leftAlone(reason: Reason, ...before: readonly Reason[]): Planned {
  return { plan: undefined, reasons: [...before, reason], warnings: [] };
}

function notExposed({ serves }: InjectionSettings, { exposedBy }: ClusterFacts): string {
  if (serves === false) return 'annotation lameduck.dev/serves is "false"';
  const nobody = exposedBy === undefined ? "" : "no Service selects the pod, and ";
  return `${nobody}no container declares a port for requests; annotation lameduck.dev/serves says otherwise`;
}

function assemble(
  pod: PodView,
  actions: readonly Action[],
  carried: HoldMethod,
  times: Times,
  settings: InjectionSettings,
  facts: ClusterFacts,
  reasons: readonly Reason[],
): Planned {
  const byHook = actions.filter(({ does }) => does === "hold");
  const isOrdered =
    carried.kind === "wait" &&
    !pod.isInjected &&
    byHook.length > 0 &&
    actions.some(({ does }) => does === "follow");
  const containers = actions.map((action): ContainerPlan => {
    const hook = hookOf(action, { holds: byHook, isOrdered, kind: carried.kind, times, settings });
    const options = action.does === "instrument" ? nodeOptionsFor(action.container) : undefined;
    const hookSeconds = hook === undefined ? undefined : times.hold;
    const env = variablesFor(action, hookSeconds, times, settings, facts);
    const needsInitVolume = carried.mount !== undefined && (hook?.isInit === true || options !== undefined);
    return {
      index: action.index,
      preStop: hook?.preStop,
      replaces: hook !== undefined && action.former !== undefined,
      env:
        options !== undefined && options.at === undefined
          ? [...env, { name: "NODE_OPTIONS", value: options.value }]
          : env,
      changed: options?.at === undefined ? undefined : { at: options.at, value: options.value },
      mounts: [
        ...(needsInitVolume ? [carried.mount] : []),
        ...(isOrdered && hook?.isInit === true ? [orderMount] : []),
      ],
    };
  });
  const isCarried = containers.some(({ mounts }) => mounts.length > 0);
  const grace = times.grace > times.graceBefore ? times.grace : undefined;
  const isEmpty =
    grace === undefined &&
    containers.every(({ preStop, env, changed }) => preStop === undefined && env.length === 0 && !changed);
  if (isEmpty) return leftAlone({ code: "nothing-to-do", text: "all is said already" }, ...reasons);
  return {
    plan: {
      pod,
      containers,
      volumes: [
        ...(isCarried && carried.volume ? [carried.volume] : []),
        ...(isOrdered ? [sharedOrder] : []),
      ],
      initContainers: isCarried && carried.initContainer ? [carried.initContainer] : [],
      grace,
      times,
      annotations: {
        [injectedAnnotation]: facts.lameduckVersion,
        ...formerAnnotation(actions),
        ...(facts.isUndoable ? { [undoAnnotation]: undoText(pod, containers, grace) } : {}),
      },
    },
    reasons: [...reasons, ...reasonsOf(actions, containers, carried, times)],
    warnings: [...warningsOf(pod), ...(isOrdered ? unawaitedWarning(byHook) : [])],
  };
}

/** For the records: how long the pod would have slept. */
function formerAnnotation(actions: readonly Action[]): Readonly<Record<string, string>> {
  const sleeps = actions.flatMap(({ former }) => former?.seconds ?? []);
  return sleeps.length === 0 ? {} : { [formerSleepAnnotation]: `${Math.max(...sleeps)}s` };
}

/** A grace period from before is nowhere else; a hook and a variable may be anybody's. */
function undoText(pod: PodView, containers: readonly ContainerPlan[], grace: number | undefined): string {
  const before = pod.spec["terminationGracePeriodSeconds"];
  const named = (one: ContainerPlan): string => textOf(pod.containers[one.index]?.["name"]);
  const hooked = containers.filter(({ preStop }) => preStop !== undefined).map(named);
  const told = containers.filter(({ env }) => env.length > 0).map((one) => `${named(one)} ${one.env.length}`);
  return [
    ...(grace === undefined ? [] : [`grace ${grace} was ${typeof before === "number" ? before : "absent"}`]),
    ...(told.length === 0 ? [] : [`variables ${told.join(" ")}`]),
    ...(hooked.length === 0 ? [] : [`hooks ${hooked.join(" ")}`]),
  ].join("; ");
}

/** Kubernetes accepts a negative grace period, and kills such a pod after one second. */
function warningsOf({ spec }: PodView): string[] {
  const given = spec["terminationGracePeriodSeconds"];
  return typeof given === "number" && given < 0
    ? [
        `terminationGracePeriodSeconds is ${given}; ${usualGrace} s are assumed, since Kubernetes would kill the pod after 1 s`,
      ]
    : [];
}

function unawaitedWarning(holds: readonly Action[]): string[] {
  const names = holds.slice(mostAwaited).map(({ name }) => name);
  return names.length === 0
    ? []
    : [`sidecars wait for the first ${mostAwaited} containers that hold, and not for ${names.join(", ")}`];
}

function reasonsOf(
  actions: readonly Action[],
  containers: readonly ContainerPlan[],
  carried: HoldMethod,
  { hold, grace, graceBefore, convergence }: Times,
): Reason[] {
  const reasons = containers.flatMap(({ index, preStop, env, changed }): Reason[] => {
    const { name, does, because, former } = actions[index]!;
    if (does === "instrument" && (env.length > 0 || changed))
      return [{ code: "held-by-library", container: name, text: because }];
    if (preStop === undefined)
      return env.length > 0
        ? [{ code: "environment-only", container: name, text: `the grace period is ${grace} s` }]
        : [];
    if (former)
      return [
        {
          code: "sleep-replaced",
          container: name,
          text: `${hold} s at most, in place of its sleep of ${former.seconds} s; ${because}`,
        },
      ];
    if (does === "follow") return [{ code: "sidecar-ordered", container: name, text: because }];
    return [
      "sleep" in preStop
        ? {
            code: "held-by-sleep",
            container: name,
            text: `${hold} s: ${convergence.value} s until its senders stop sending (${convergence.origin}); ${because}`,
          }
        : { code: "held-by-hook", container: name, text: `${hold} s at most; ${because}` },
    ];
  });
  if (carried.kind === "sleep" && carried.because !== "")
    reasons.push({ code: "sleep-instead", text: carried.because });
  if (grace > graceBefore)
    reasons.push({
      code: "grace-raised",
      text: `from ${graceBefore} to ${grace} s: a hold of ${hold} s at most, and ${grace - hold} s for the shutdown`,
    });
  return reasons;
}

/** What makes us believe that requests come to the pod; undefined where nothing does. */
function exposureOfPod(
  { containers }: PodView,
  { onlyExposed, serves }: Pick<InjectionSettings, "onlyExposed" | "serves">,
  { exposedBy }: Pick<ClusterFacts, "exposedBy">,
): string | undefined {
  if (serves === false) return undefined;
  if (serves === true) return "annotation lameduck.dev/serves";
  if (!onlyExposed) return "onlyExposed is off";
  if (exposedBy !== undefined && exposedBy.length > 0) return exposedBy.join(", ");
  // Pods are often made before their Service: `kubectl apply` of a folder takes deployment.yaml before service.yaml.
  const port = containers
    .flatMap((container) => mapsIn(container["ports"]))
    .find(
      ({ name, protocol }) =>
        (protocol === undefined || protocol === "TCP") && !observedPort.test(textOf(name)),
    );
  return port === undefined ? undefined : `declared port ${String(port["containerPort"])}`;
}
