import { DrainError, type DrainOptions, type Policy } from "@lameduck/drain";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variables that stand for options of the decision; options given in code win over them. */
export const variables = {
  LAMEDUCK_POLICY: "policy",
  LAMEDUCK_FLOOR: "floor",
  LAMEDUCK_CAP: "cap",
  LAMEDUCK_GRACE_PERIOD: "grace",
  LAMEDUCK_PRESTOP: "prestop",
  LAMEDUCK_RESERVE: "reserve",
  LAMEDUCK_DELAY: "delay",
  LAMEDUCK_WINDOW: "window",
  LAMEDUCK_LOSS_BUDGET: "lossBudget",
  LAMEDUCK_CONVERGENCE: "convergence",
} as const satisfies Record<string, keyof DrainOptions>;

/** Those that stand for other options, which take more than one form in code. */
const ownVariables = {
  LAMEDUCK_SIGNALS: "signals",
  LAMEDUCK_CRASHES: "crashes",
  LAMEDUCK_TRACE: "trace",
  LAMEDUCK_MODE: "mode",
  LAMEDUCK_PROBES: "probes",
  LAMEDUCK_STREAMS: "streams",
} as const;

/** What platforms inject. An invalid value is reported in one line, and keeps no pod from starting. */
export const injectedVariables = {
  LAMEDUCK_COORDINATOR: "coordinator",
  LAMEDUCK_COORDINATOR_TOKEN_FILE: "coordinator",
  LAMEDUCK_POD_NAME: "coordinator",
  LAMEDUCK_POD_NAMESPACE: "coordinator",
  LAMEDUCK_POD_UID: "coordinator",
  LAMEDUCK_LEARNT: "learnt",
} as const;

export const environmentVariables = { ...variables, ...ownVariables };

type Variable = keyof typeof variables;
const names = Object.keys(variables) as Variable[];

/** Options from the environment. Empty values count as unset: manifests often have them. */
export function optionsFromEnvironment(environment: Environment): DrainOptions {
  const options: DrainOptions = {};
  for (const name of names) {
    const value = environment[name]?.trim();
    if (!value) continue;
    switch (name) {
      case "LAMEDUCK_POLICY":
        options.policy = value as Policy["kind"];
        break;
      case "LAMEDUCK_LOSS_BUDGET":
        options.lossBudget = numberFrom(value, name);
        break;
      default:
        options[variables[name]] = value;
    }
  }
  return options;
}

function numberFrom(value: string, name: Variable): number {
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw new DrainError("LAMEDUCK_BAD_NUMBER", name, `${JSON.stringify(value)} is not a number`);
}

/** The variable through which an option was said, or should have been: a mistake is reported where it is to be mended. */
export function variableOf(option: string, environment: Environment): string | undefined {
  const isSet = (name: Variable): boolean => Boolean(environment[name]?.trim());
  const variable = names.find((name) => variables[name] === option);
  // What is missing is asked for by the policy.
  return variable && (isSet(variable) || isSet("LAMEDUCK_POLICY")) ? variable : undefined;
}

/** What only a pod has. */
const ofPods = ["KUBERNETES_SERVICE_HOST", "LAMEDUCK_GRACE_PERIOD", "LAMEDUCK_PRESTOP"];

/** In a pod, or where a grace period is set. Elsewhere no endpoint list that lags behind leads to this process. */
export function isInKubernetes(environment: Environment): boolean {
  return ofPods.some((name) => environment[name]?.trim());
}

/** What runs programs for Node and is none: its servers and signals are others. Undefined in Node. */
export function otherRuntime(): string | undefined {
  const { bun, deno } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? undefined : `Deno ${deno}`;
}
