import { decisionVariables } from "@lameduck/options";
import type { Container } from "../model/container.ts";
import { programOf } from "../model/shell/commands.ts";

/** In which way Lameduck itself stops the container. */
export interface OwnStop {
  readonly by: "init" | "wait hook" | "library";
  /** The command line of the init, or of the hook. */
  readonly argv: readonly string[];
}

export function ownStopOf({ argv, hook, env }: Container): OwnStop | undefined {
  if (hook?.kind === "exec" && programOf(hook.command[0]) === "lameduck-init" && hook.command[1] === "wait")
    return { by: "wait hook", argv: hook.command };
  if (argv !== undefined && programOf(argv[0]) === "lameduck-init") return { by: "init", argv };
  const register = "@lameduck/node/register";
  const isLoaded =
    (argv ?? []).some((word) => word.includes(register)) ||
    (env.get("NODE_OPTIONS") ?? "").includes(register);
  // Its own variables are of no use to a program without it.
  const isTold = decisionVariables.some((name) => env.has(name));
  return isLoaded || isTold ? { by: "library", argv: argv ?? [] } : undefined;
}

/** The value of `--name value` or `--name=value`. */
export function optionOf(argv: readonly string[], name: string): string | undefined {
  const at = argv.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at === -1) return undefined;
  return argv[at]!.includes("=") ? argv[at]!.slice(name.length + 1) : argv[at + 1];
}
