import type { Field } from "@lameduck/manifests";
import { decisionVariables, options } from "@lameduck/options";
import { byDefault, durationOf, fromField, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { programOf } from "../model/shell/commands.ts";

/** In which way Lameduck itself stops the container. */
export interface OwnStop {
  readonly by: "init" | "wait hook" | "library";
  /** The command line of the init, or of the hook. */
  readonly argv: readonly string[];
}

export function ownStopOf({ argv, hook, env, isInjected }: Container): OwnStop | undefined {
  if (hook?.kind === "exec" && programOf(hook.command[0]) === "lameduck-init" && hook.command[1] === "wait")
    return { by: "wait hook", argv: hook.command };
  if (argv !== undefined && programOf(argv[0]) === "lameduck-init") return { by: "init", argv };
  const register = "@lameduck/node/register";
  const isLoaded =
    (argv ?? []).some((word) => word.includes(register)) ||
    (env.get("NODE_OPTIONS") ?? "").includes(register);
  // Its own variables are of no use to a program without it.
  const telling = [...decisionVariables, spreadVariable].filter(
    (name) => !isInjected || !toldToAll.has(name),
  );
  const isTold = telling.some((name) => env.has(name));
  return isLoaded || isTold ? { by: "library", argv: argv ?? [] } : undefined;
}

/** An injection tells these to each container, whether or not that has Lameduck. */
const toldToAll: ReadonlySet<string> = new Set([options.grace.variable, options.prestop.variable]);

/** The longest hold, where it is said; undefined where it follows from the grace period. */
export function capOf(container: Container, stop: OwnStop): Configured | undefined {
  return optionFor(container, stop, "--cap", "LAMEDUCK_CAP");
}

const spreadVariable = options.spread.variable;

/** The time over which the library ends lasting connections; "not read" where a variable says it by a value that is not in the input. */
export function spreadOf({ env, envFields }: Container): Amount | "not read" | undefined {
  const field = envFields.get(spreadVariable);
  if (field === undefined) return undefined;
  const text = env.get(spreadVariable);
  if (text === "") return undefined;
  const value = text === undefined ? undefined : durationOf(text);
  return value === undefined ? "not read" : fromField("spread", value, field);
}

/** What the library keeps after hold and spread. */
export function ownReserveOf({ env, envFields, hook }: Container, grace: number): Amount {
  const { variable, default: usual } = options.reserve;
  const [text, field] = [env.get(variable), envFields.get(variable)];
  const value = text === undefined ? undefined : durationOf(text);
  if (value !== undefined && field) return fromField("reserve", value, field);
  const left = grace - (hook?.least.value ?? 0);
  return byDefault("reserve", Math.max(0, Math.min(usual / 1_000, left / 3)), "Lameduck");
}

/** The value of `--name value` or `--name=value`. */
function optionOf(argv: readonly string[], name: string): string | undefined {
  const at = argv.findIndex((word) => word === name || word.startsWith(`${name}=`));
  if (at === -1) return undefined;
  return argv[at]!.includes("=") ? argv[at]!.slice(name.length + 1) : argv[at + 1];
}

interface Configured {
  /** undefined: configured, but not by a literal. */
  readonly amount: Amount | undefined;
  readonly field: Field;
  /** The field holds this and nothing else. */
  readonly isWhole: boolean;
}

/** Flags win over variables, as in Lameduck itself. */
export function optionFor(
  container: Container,
  { by, argv }: OwnStop,
  flag: string,
  variable: string,
): Configured | undefined {
  const value = by === "library" ? undefined : optionOf(argv, flag);
  if (value !== undefined) {
    const inHook = by === "wait hook" ? container.hook?.field.at("command").items() : undefined;
    const words = inHook ?? [...container.field.at("command").items(), ...container.field.at("args").items()];
    const field =
      words.find((word) => word.text() === value) ??
      words.find((word) => word.text()?.startsWith(`${flag}=`)) ??
      container.argvField;
    return { amount: amountOf(value, flag, field), field, isWhole: field.text() === value };
  }
  const field = container.envFields.get(variable);
  if (field === undefined) return undefined;
  const text = container.env.get(variable);
  return {
    amount: text === undefined ? undefined : amountOf(text, variable, field),
    field,
    isWhole: text !== undefined,
  };
}

function amountOf(text: string, name: string, field: Field): Amount | undefined {
  const value = durationOf(text);
  return value === undefined ? undefined : fromField(name, value, field);
}
