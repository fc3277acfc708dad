import { DrainError, type DrainOptions } from "@lameduck/drain";
import { variableOf, type Environment } from "./environment.ts";

/** Those that an injection adds to pods (docs/inject.md), which cannot see what the program's code says. */
const told = ["grace", "prestop"] as const;
/** What in code can contradict them. */
const bounds = ["grace", "prestop", "reserve", "cap", "floor", "timeout", "lbHealth"] as const;

/**
 * A platform's times must not keep a pod from starting that starts without them: where they leave too little for what is said in code, code
 * counts alone, as before.
 * @param parse of the merged options.
 */
export function yieldingTold<T>(
  merged: DrainOptions,
  inCode: Readonly<Record<string, unknown>>,
  environment: Environment,
  parse: (options: DrainOptions) => T,
): { readonly parsed: T; readonly options: DrainOptions; readonly warnings: readonly string[] } {
  const whole = { ...merged };
  try {
    return { parsed: parse(whole), options: whole, warnings: [] };
  } catch (error) {
    const names = told.filter((name) => inCode[name] === undefined && merged[name] !== undefined);
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
