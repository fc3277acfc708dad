import { DrainError, type DrainOptions } from "@lameduck/drain";
import { decisionNames, rows } from "@lameduck/options";
import { variableOf, type Environment } from "./environment.ts";

/** Options that an injection sets by variables (docs/operate/inject.md). It cannot see the options in the program's code. */
const injected = ["grace", "prestop"] as const;
/** Options in code that can contradict them. */
const bounds = [...decisionNames.filter((name) => rows[name].bound), "timeout", "lbHealth", "spread"];

/**
 * Injected times must not keep a pod from starting. If they leave too little time for the options in code, they are left out, with a warning.
 * @param parse of the merged options.
 */
export function yieldToCode<T>(
  merged: DrainOptions,
  inCode: Readonly<Record<string, unknown>>,
  environment: Environment,
  parse: (options: DrainOptions) => T,
): { readonly parsed: T; readonly options: DrainOptions; readonly warnings: readonly string[] } {
  const whole = { ...merged };
  try {
    return { parsed: parse(whole), options: whole, warnings: [] };
  } catch (error) {
    const names = injected.filter((name) => inCode[name] === undefined && merged[name] !== undefined);
    if (!(error instanceof Error) || names.length === 0 || bounds.every((name) => inCode[name] === undefined))
      throw error;
    const options = { ...merged };
    for (const name of names) delete options[name];
    try {
      const spelt = names.flatMap((name) => variableOf(name, environment) ?? []).join(" and ");
      const problem = error instanceof DrainError ? `${error.place}: ` : "";
      const warning = `${spelt}: left out, as options in code need more: ${problem}${error.message.replace(/^[^:]*: /, "")}`;
      return { parsed: parse(options), options, warnings: [warning] };
    } catch {
      throw error;
    }
  }
}
