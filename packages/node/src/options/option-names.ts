import { unknownName, type DrainOptions } from "@lameduck/drain";
import { variables } from "./environment.ts";

const decision = [...Object.values(variables), "learnt"] as const satisfies readonly (keyof DrainOptions)[];

const own = [
  "ramp",
  "probes",
  "streams",
  "lbHealth",
  "timeout",
  "log",
  "exit",
  "signals",
  "otherHandlers",
  "crashes",
  "trace",
  "coordinator",
  "mode",
] as const;

/** Those for a user, as docs/node.md lists them. */
export const documentedOptions: readonly string[] = [...decision, ...own];

/** Those of the decision; the last three are for experiments with it. */
export const decisionOptions = [...decision, "requestQuiet", "settle", "maxSenders"] as const;

const all: readonly string[] = [...decisionOptions, ...own, "environment"];

/** The first name that is no option, and the message about it. */
export function unknownOptionIn(options: object): { name: string; problem: string } | undefined {
  const name = Object.keys(options).find((each) => !all.includes(each));
  return name === undefined ? undefined : { name, problem: unknownName("option", name, documentedOptions) };
}
