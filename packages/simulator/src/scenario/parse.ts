import { DrainError, parseConfig, type DrainOptions } from "@lameduck/drain";
import { withoutUndefined } from "@lameduck/drain/common";
import { count } from "@lameduck/accounting/words";
import { SimulatorError } from "../errors.ts";
import { type Distribution, presets, type PresetName } from "@lameduck/load/propagation";
import type { Forwarder } from "../model/forwarder.ts";
import { defaultEndpoints, type Scenario, type SenderGroup, type RolloutModel } from "../model/scenario.ts";
import type { Arrivals, Identity } from "../model/trace.ts";
import { invalid, readSource, type Locate, type Path } from "./source.ts";
import { scenarioSchema, type CheckedScenario, type ScenarioFile } from "./schema.ts";

/** A scenario, and the settings of the user's own policy in it. */
export interface ParsedScenario {
  readonly scenario: Scenario;
  readonly policy: DrainOptions | undefined;
}

const inText = scenarioSchema("refused");
const inCode = scenarioSchema("milliseconds");

/**
 * Reads a scenario file, YAML or JSON. `adjust` may change what a sound file says, as flags do.
 * @throws {SimulatorError} with file:line:column.
 */
export function parseScenario(
  text: string,
  file = "scenario",
  adjust: (file: ScenarioFile) => ScenarioFile = (said) => said,
): ParsedScenario {
  const { said, place } = readSource(text, file);
  const sound = inText.safeParse(said);
  if (!sound.success) throw invalid(sound.error, place);
  return checkScenario(adjust(said as ScenarioFile), place);
}

/** Checks a scenario given as an object, say from flags. `place` names a field by its path. */
export function scenarioFrom(
  input: ScenarioFile,
  place = (path: Path) => path.join(".") || "scenario",
): ParsedScenario {
  return checkScenario(input, place);
}

function checkScenario(input: unknown, place: Locate): ParsedScenario {
  const checked = inCode.safeParse(input);
  if (!checked.success) throw invalid(checked.error, place);
  const file = checked.data;
  const groups = file.senders.map((group, index) => senderGroup(group, place(["senders", index])));
  const senders = groups.sort((a, b) => Number(b.share > 0) - Number(a.share > 0));
  return { scenario: compile(file, senders, place), policy: ownPolicy(file, place) };
}

function compile(file: CheckedScenario, senders: readonly SenderGroup[], place: Locate): Scenario {
  const { traffic, pod, replicas, acknowledgements } = file;
  if (traffic.perPod !== undefined && traffic.total !== undefined)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_IMPOSSIBLE",
      place(["traffic", "total"]),
      "perPod is given as well",
    );
  if (traffic.clients !== undefined && traffic.snat !== undefined)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_IMPOSSIBLE",
      place(["traffic", "snat"]),
      "clients is given as well",
    );
  const reserve = pod.reserve ?? Math.max(0, Math.min(5_000, (pod.grace - pod.prestop) / 3));
  if (pod.grace <= pod.prestop + reserve)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_IMPOSSIBLE",
      place(["pod", "grace"]),
      `${pod.grace} ms of grace - ${pod.prestop} ms of preStop - ${reserve} ms of reserve leave nothing to hold`,
    );
  const { pooled } = traffic;
  if (traffic.perPod === 0 || traffic.total === 0)
    if (!pooled?.perPod)
      throw new SimulatorError(
        "LAMEDUCK_SCENARIO_IMPOSSIBLE",
        place(["traffic", traffic.total === undefined ? "perPod" : "total"]),
        "no request comes, so none can be lost: give a rate above 0, or pooled connections",
      );
  const consumers = senders.reduce((sum, { count, reports }) => sum + (reports === false ? 0 : count), 0);
  for (const how of ["silent", "lying"] as const)
    if (acknowledgements && acknowledgements[how] > consumers)
      throw new SimulatorError(
        "LAMEDUCK_SCENARIO_IMPOSSIBLE",
        place(["acknowledgements", how]),
        `${acknowledgements[how]} of ${consumers} senders that report`,
      );
  return {
    name: file.name,
    summary: file.summary,
    replicas,
    terminations: file.terminations,
    rollout: rolloutOf(file, place),
    endpoints: endpointsOf(file),
    senders,
    traffic: {
      perPod: traffic.perPod ?? (traffic.total === undefined ? 50 : traffic.total / replicas),
      spread: traffic.spread,
      arrivals: arrivalsOf(traffic.arrivals),
      identity: identityOf(traffic),
      service: traffic.service,
      ...(pooled ? { pooled } : {}),
    },
    pod: withoutUndefined({ ...pod, reserve }),
    ...(acknowledgements ? { acknowledgements } : {}),
  };
}

function endpointsOf({ endpoints }: CheckedScenario): Scenario["endpoints"] {
  return { ...defaultEndpoints, ...withoutUndefined(endpoints) };
}

function rolloutOf({ rollout, replicas }: CheckedScenario, place: Locate): RolloutModel {
  const { kind, ready } = rollout;
  if (kind === "isolated") return { kind };
  const isDeployment = kind === "deployment";
  // Kubernetes rounds surge up and refuses both being zero; unavailability it rounds down in a Deployment, and up elsewhere.
  const maxSurge = podsOf(rollout.maxSurge ?? (isDeployment ? "25%" : 0), replicas, Math.ceil);
  const maxUnavailable = podsOf(
    rollout.maxUnavailable ?? (isDeployment ? "25%" : maxSurge > 0 ? 0 : 1),
    replicas,
    isDeployment ? Math.floor : Math.ceil,
  );
  if (maxSurge === 0 && maxUnavailable === 0)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_IMPOSSIBLE",
      place(["rollout", "maxSurge"]),
      `maxSurge and maxUnavailable both come to 0 of ${count(replicas, "pod")}: no rollout could begin`,
    );
  if (kind === "stateful-set") return inPlace("StatefulSet", maxUnavailable, ready);
  // With surge a DaemonSet starts the successor first, as a Deployment does.
  if (kind === "daemon-set" && maxSurge === 0) return inPlace("DaemonSet", maxUnavailable, ready);
  return {
    kind: "deployment",
    ...(isDeployment ? {} : { workload: "DaemonSet" as const }),
    maxSurge,
    maxUnavailable,
    ready,
    listedBefore: rollout.listedBefore,
  };
}

function inPlace(
  workload: "StatefulSet" | "DaemonSet",
  maxUnavailable: number,
  ready: Distribution,
): RolloutModel {
  return { kind: "in-place", workload, slots: Math.max(1, maxUnavailable), ready };
}

function podsOf(share: number | string, replicas: number, round: (value: number) => number): number {
  return typeof share === "number" ? share : round((Number(share.slice(0, -1)) / 100) * replicas);
}

function senderGroup(group: CheckedScenario["senders"][number], place: string): SenderGroup {
  const { count, share, reports } = group;
  const member = { count, share, ...(reports ? {} : { reports }) };
  if ("preset" in group)
    return { name: group.name ?? group.preset, ...member, forwarder: preset(group.preset, place) };
  if ("convergence" in group)
    return { name: group.name, ...member, forwarder: { kind: "delay", delay: group.convergence } };
  const { minSyncPeriod, sync, busy } = group.kubeProxy;
  return {
    name: group.name,
    ...member,
    forwarder: {
      kind: "periodic",
      watch: { lognormal: [30, 80] },
      every: minSyncPeriod,
      counted: "from-end",
      work: sync,
      busy,
    },
  };
}

/** @throws {SimulatorError} LAMEDUCK_UNKNOWN_PRESET, listing the known ones. */
export function preset(name: string, place: string): Forwarder {
  if (!Object.hasOwn(presets, name))
    throw new SimulatorError(
      "LAMEDUCK_UNKNOWN_PRESET",
      place,
      `no preset ${JSON.stringify(name)}; known are ${Object.keys(presets).join(", ")}`,
    );
  return presets[name as PresetName].forwarder;
}

function arrivalsOf(arrivals: CheckedScenario["traffic"]["arrivals"]): Arrivals {
  if (arrivals === "poisson") return { kind: "poisson" };
  return "bursty" in arrivals
    ? { kind: "bursty", cv: arrivals.bursty }
    : { kind: "periodic", jitter: arrivals.periodic };
}

function identityOf({ clients, snat }: CheckedScenario["traffic"]): Identity {
  if (clients !== undefined) return { kind: "clients", count: clients };
  return snat === undefined ? { kind: "sender" } : { kind: "snat", addresses: snat };
}

/** The user's own settings with the pod's grace period. They are checked here, so that a mistake has a place. */
function ownPolicy({ policy, pod }: CheckedScenario, place: Locate): DrainOptions | undefined {
  const options = {
    grace: pod.grace,
    prestop: pod.prestop,
    ...(pod.reserve === undefined ? {} : { reserve: pod.reserve }),
    ...policy,
  } as DrainOptions;
  try {
    parseConfig(options);
  } catch (error) {
    if (!(error instanceof DrainError)) throw error;
    const where = policy && error.place in policy ? ["policy", error.place] : ["policy"];
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_IMPOSSIBLE",
      place(where),
      `${error.message} [${error.code}]`,
      { remedy: error.remedy },
    );
  }
  return policy ? options : undefined;
}
