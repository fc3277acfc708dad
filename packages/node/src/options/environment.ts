import { DrainError, type DrainOptions } from "@lameduck/drain";
import { libraryVariables, rows } from "@lameduck/options";

export type Environment = Readonly<Record<string, string | undefined>>;

const decisive = libraryVariables.filter(({ name }) => rows[name].decides);

/** What the variable says. An empty value counts as unset: manifests often have them. */
export function valueOf(environment: Environment, variable: string): string | undefined {
  return environment[variable]?.trim() || undefined;
}

/** Options from the environment. */
export function optionsFromEnvironment(environment: Environment): DrainOptions {
  const said = decisive.flatMap(({ variable, name }): (readonly [string, string | number])[] => {
    const value = valueOf(environment, variable);
    if (value === undefined) return [];
    const isNumber = rows[name].kind === "number" || rows[name].kind === "whole number";
    return [[name, isNumber ? numberFrom(value, variable) : value]];
  });
  return Object.fromEntries(said);
}

/** As lameduck-init reads it: Number() would take "0x1" as well. */
const decimal = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?<!\.)$/i;

function numberFrom(value: string, variable: string): number {
  if (decimal.test(value) && Number.isFinite(Number(value))) return Number(value);
  throw new DrainError("LAMEDUCK_BAD_NUMBER", variable, `${JSON.stringify(value)} is not a number`);
}

/** The variable through which an option was said, or should have been: a mistake is reported where it is to be mended. */
export function variableOf(option: string, environment: Environment): string | undefined {
  const variable = decisive.find(({ name }) => name === option)?.variable;
  const isSet = (name: string): boolean => valueOf(environment, name) !== undefined;
  // What is missing is asked for by the policy.
  return variable && (isSet(variable) || isSet("LAMEDUCK_POLICY")) ? variable : undefined;
}

/** What only a pod has. */
const ofPods = ["KUBERNETES_SERVICE_HOST", "LAMEDUCK_GRACE_PERIOD", "LAMEDUCK_PRESTOP"];

/** In a pod, or where a grace period is set. Elsewhere no endpoint list that lags behind leads to this process. */
export function isInKubernetes(environment: Environment): boolean {
  return ofPods.some((name) => valueOf(environment, name) !== undefined);
}

/** What runs programs for Node and is none: its servers and signals are others. Undefined in Node. */
export function otherRuntime(): string | undefined {
  const { bun, deno } = process.versions;
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? undefined : `Deno ${deno}`;
}
