import { SimulatorError } from "../errors.ts";
import type { ScenarioFile } from "../scenario/schema.ts";
import { field, list, positive, type Source } from "./source.ts";

const rolloutKinds = {
  Deployment: "deployment",
  StatefulSet: "stateful-set",
  DaemonSet: "daemon-set",
  Rollout: "deployment",
} as const;

/** Kinds whose pods are replaced by a rollout. */
export const rolledKinds: readonly string[] = Object.keys(rolloutKinds);

type Kind = keyof typeof rolloutKinds;

/** An object of a manifest, as it is written, and where it stands. */
export interface Manifest {
  readonly object: unknown;
  /** file:line:column */
  readonly place: string;
}

/** @throws {SimulatorError} where nobody rolls pods of its kind. */
export function sourceOfManifest({ object, place }: Manifest): Source {
  const kind = field(object, "kind");
  if (typeof kind === "string" && Object.hasOwn(rolloutKinds, kind))
    return sourceOfWorkload(object, kind as Kind);
  throw new SimulatorError(
    "LAMEDUCK_SCENARIO_INVALID",
    place,
    `${String(kind)} is neither a Deployment nor a StatefulSet nor a DaemonSet nor a Rollout`,
  );
}

function sourceOfWorkload(workload: unknown, kind: Kind): Source {
  const name = field(workload, "metadata", "name");
  const pod = field(workload, "spec", "template", "spec");
  const grace = field(pod, "terminationGracePeriodSeconds");
  const container = servingContainer(pod);
  const containerName = field(container, "name");
  const hook = preStopTime(container);
  const replicas = positive(field(workload, "spec", "replicas"));
  return {
    scenario: {
      ...(typeof name === "string" ? { name } : {}),
      // A DaemonSet has as many pods as there are nodes for it, which its manifest does not say.
      ...(replicas !== undefined ? { replicas } : kind === "DaemonSet" ? {} : { replicas: 1 }),
      rollout: rolloutOf(workload, kind),
      pod: {
        ...(typeof grace === "number" ? { grace: grace * 1_000 } : {}),
        ...(typeof hook === "number" ? { prestop: hook } : {}),
      },
    },
    ...(typeof containerName === "string" ? { container: containerName } : {}),
    unknown:
      hook === "unknown"
        ? [
            {
              sentence: `how long the preStop hook of ${String(containerName)} takes; 0 s is assumed, say it as pod: { prestop: 10s } of a scenario file`,
              isAnswered: ({ pod: said }) => said?.prestop !== undefined,
            },
          ]
        : [],
  };
}

function rolloutOf(workload: unknown, kind: Kind): NonNullable<ScenarioFile["rollout"]> {
  const rolling = {
    Deployment: ["strategy", "rollingUpdate"],
    StatefulSet: ["updateStrategy", "rollingUpdate"],
    DaemonSet: ["updateStrategy", "rollingUpdate"],
    Rollout: ["strategy", "canary"],
  }[kind];
  const maxSurge = shareOf(field(workload, "spec", ...rolling, "maxSurge"));
  const maxUnavailable = shareOf(field(workload, "spec", ...rolling, "maxUnavailable"));
  return {
    kind: rolloutKinds[kind],
    ...(maxSurge === undefined ? {} : { maxSurge }),
    ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
  };
}

/** The first container with a port, else the first one. */
function servingContainer(pod: unknown): unknown {
  const containers = list(field(pod, "containers"));
  return containers.find((container) => list(field(container, "ports")).length > 0) ?? containers[0];
}

/** Milliseconds; undefined without a hook. */
function preStopTime(container: unknown): number | "unknown" | undefined {
  const hook = field(container, "lifecycle", "preStop");
  if (hook === undefined || hook === null) return undefined;
  const seconds = field(hook, "sleep", "seconds");
  if (typeof seconds === "number") return seconds * 1_000;
  return sleepIn(list(field(hook, "exec", "command")).map(String)) ?? "unknown";
}

/** `sleep 10`, also as the only command of a shell. */
function sleepIn(command: readonly string[]): number | undefined {
  const [program = "", option = "", script = ""] = command;
  const isShell = /(^|\/)(ba|da|a)?sh$/.test(program) && /^-[a-z]*c$/.test(option);
  const match = /^(?:\S*\/)?sleep\s+(\d+(?:\.\d+)?)s?\s*;?$/.exec(
    (isShell ? script : command.join(" ")).trim(),
  );
  return match ? Number(match[1]) * 1_000 : undefined;
}

function shareOf(value: unknown): number | string | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\d{1,3}%$/.test(value) ? value : undefined;
}
