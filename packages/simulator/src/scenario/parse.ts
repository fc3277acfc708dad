import { DrainError, parseConfig, type DrainOptions } from "@lameduck/drain";
import { isMap, isScalar, LineCounter, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { SimulatorError } from "../errors.ts";
import { type Distribution, presets, type PresetName } from "@lameduck/load/propagation";
import type { Forwarder } from "../model/forwarder.ts";
import { defaultEndpoints, type Scenario, type SenderGroup, type RolloutModel } from "../model/scenario.ts";
import type { Arrivals, Identity } from "../model/trace.ts";
import { scenarioSchema, type CheckedScenario, type ScenarioFile } from "./schema.ts";

/** A scenario, and the settings of the user's own policy in it. */
export interface ParsedScenario {
  readonly scenario: Scenario;
  readonly policy: DrainOptions | undefined;
}

const inText = scenarioSchema("refused");
const inCode = scenarioSchema("milliseconds");

type Path = readonly PropertyKey[];
/** Gives the place of a path in the scenario's source. */
type Locate = (path: Path) => string;

/**
 * Reads a scenario file, YAML or JSON. `adjust` may change what a sound file says, as flags do.
 * @throws {SimulatorError} with file:line:column.
 */
export function parseScenario(
  text: string,
  file = "scenario",
  adjust: (file: ScenarioFile) => ScenarioFile = (said) => said,
): ParsedScenario {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [problem] = document.errors;
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  if (problem) throw new SimulatorError("LAMEDUCK_SCENARIO_SYNTAX", at(problem.pos[0]), problem.message);
  const place: Locate = (path) => {
    const key = path.at(-1);
    const offset = typeof key === "string" ? locateKey(document, path.slice(0, -1), key) : undefined;
    return offset === undefined ? locate(document, path, at, file) : at(offset);
  };
  const said: unknown = document.toJS() ?? {};
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
    pod: {
      watched: pod.watched,
      ...(pod.age === undefined ? {} : { age: pod.age }),
      ...(pod.stalls === undefined ? {} : { stalls: pod.stalls }),
      reaction: pod.reaction,
      grace: pod.grace,
      prestop: pod.prestop,
      reserve,
    },
    ...(acknowledgements ? { acknowledgements } : {}),
  };
}

function endpointsOf({ endpoints }: CheckedScenario): Scenario["endpoints"] {
  const given = Object.fromEntries(Object.entries(endpoints).filter(([, value]) => value !== undefined));
  return { ...defaultEndpoints, ...given };
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
      `maxSurge and maxUnavailable both come to 0 of ${replicas} pods: no rollout could begin`,
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
    );
  }
  return policy ? options : undefined;
}

function invalid(error: z.ZodError, place: Locate): SimulatorError {
  const issue = error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const path = [...issue.path, issue.keys[0]!];
    return new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      place(path),
      `unknown key ${JSON.stringify(issue.keys[0])}`,
    );
  }
  return new SimulatorError(
    "LAMEDUCK_SCENARIO_INVALID",
    place(issue.path),
    `${issue.path.join(".") || "the scenario"}: ${issue.message}`,
  );
}

/** The place of the deepest thing on the path that exists. */
function locate(document: Document, path: Path, at: (offset: number) => string, file: string): string {
  for (let depth = path.length; depth >= 0; depth--) {
    const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    const range = (node as { range?: readonly [number, number, number] } | null | undefined)?.range;
    if (range) return at(range[0]);
  }
  return file;
}

/** The place of a field's name. */
function locateKey(document: Document, path: Path, key: string): number | undefined {
  const map = path.length === 0 ? document.contents : document.getIn(path, true);
  if (!isMap(map)) return undefined;
  const pair = map.items.find(({ key: node }) => isScalar(node) && node.value === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}
