import { parseAllDocuments } from "yaml";
import { SimulatorError } from "../errors.ts";
import type { ScenarioFile } from "../scenario/schema.ts";

/** What a manifest says about a rollout; the rest of the scenario must come from elsewhere. @throws {SimulatorError} where it has no workload. */
export function scenarioOfManifest(text: string, file: string): ScenarioFile {
  for (const document of parseAllDocuments(text)) {
    const [problem] = document.errors;
    if (problem)
      throw new SimulatorError(
        "LAMEDUCK_SCENARIO_SYNTAX",
        `${file}:${problem.linePos?.[0].line ?? 1}:${problem.linePos?.[0].col ?? 1}`,
        problem.message.split("\n")[0] ?? "not YAML",
      );
    const found = workload(document.toJS());
    if (found) return found;
  }
  throw new SimulatorError(
    "LAMEDUCK_SCENARIO_INVALID",
    file,
    "neither a Deployment nor a StatefulSet nor a DaemonSet",
  );
}

function workload(document: unknown): ScenarioFile | undefined {
  const kind = field(document, "kind");
  if (kind !== "Deployment" && kind !== "StatefulSet" && kind !== "DaemonSet") return undefined;
  const name = field(document, "metadata", "name");
  const replicas = field(document, "spec", "replicas");
  const grace = field(document, "spec", "template", "spec", "terminationGracePeriodSeconds");
  const surge = field(document, "spec", "strategy", "rollingUpdate", "maxSurge");
  const unavailable = field(document, "spec", "strategy", "rollingUpdate", "maxUnavailable");
  return {
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof replicas === "number" ? { replicas } : kind === "DaemonSet" ? {} : { replicas: 1 }),
    rollout: {
      kind: kind === "StatefulSet" ? "stateful-set" : "deployment",
      ...(isShare(surge) ? { maxSurge: surge } : {}),
      ...(isShare(unavailable) ? { maxUnavailable: unavailable } : {}),
    },
    pod: typeof grace === "number" ? { grace: grace * 1_000 } : {},
  };
}

/**
 * What a recording of `lab` or `rollout --json` says: when the last sender had let go, over all its terminations, and how many
 * requests came. The last sender stands for all of them, which is the cautious reading.
 */
export function scenarioOfRecording(text: string, file: string): ScenarioFile {
  let results: unknown;
  try {
    results = JSON.parse(text);
  } catch (error) {
    throw new SimulatorError("LAMEDUCK_SCENARIO_SYNTAX", file, (error as Error).message);
  }
  const remedies = list(field(results, "remedies"));
  const each = remedies.flatMap((remedy) => list(field(remedy, "each")));
  const oracles = each
    .map((termination) => field(termination, "oracle"))
    .filter((oracle) => typeof oracle === "number")
    .sort((a, b) => a - b);
  if (oracles.length === 0)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      file,
      "no termination with a known convergence in it",
    );
  const rates = remedies.map((remedy) => {
    const [sent, duration] = [field(remedy, "sent"), field(remedy, "duration")];
    return typeof sent === "number" && typeof duration === "number" && duration > 0
      ? sent / (duration / 1_000)
      : 0;
  });
  const replicas = field(results, "settings", "replicas");
  return {
    name: `recording ${file}`,
    ...(typeof replicas === "number" && replicas > 0 ? { replicas } : {}),
    rollout: { kind: "isolated" },
    endpoints: { latency: 0, cacheLag: 0 },
    senders: [
      {
        name: `last of the senders, ${oracles.length} terminations`,
        convergence: {
          quantiles: oracles.map((oracle, index): [number, number] => [(index + 1) / oracles.length, oracle]),
        },
      },
    ],
    traffic: { total: Math.max(0, ...rates) },
  };
}

function isShare(value: unknown): value is number | string {
  return typeof value === "number" || (typeof value === "string" && /^\d{1,3}%$/.test(value));
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function field(value: unknown, ...path: readonly string[]): unknown {
  let at: unknown = value;
  for (const key of path)
    at = typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
  return at;
}
