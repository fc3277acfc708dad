import { Option, type Command } from "commander";
import { operatorNames } from "@lameduck/protocol";
import { badOption, CliError } from "./errors.ts";
import { collect } from "./options.ts";

/** Options that mean the same wherever they stand, before a command or behind it. */
const shared = {
  namespace: ["-n, --namespace <name>", "namespace of the workload (default: the context's)"],
  lameduckNamespace: ["--lameduck-namespace <name>", "namespace of Lameduck itself"],
  context: ["--context <name>", "context of the kubeconfig (default: its current one)"],
  kubeconfig: [
    "--kubeconfig <file>",
    "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's service account)",
  ],
  as: ["--as <name>", "act as this user, as kubectl does"],
  json: ["--json <file>", "write the result as JSON; - is stdout"],
  out: [
    "-o, --out <[kind=]file>",
    "write the result as a file of another kind; may be repeated; - is stdout",
  ],
} as const;

type SharedName = keyof typeof shared;

/** What `--out` writes, with the endings of such files. */
const kinds = {
  html: [".html"],
  junit: [".xml"],
  markdown: [".md"],
  sarif: [".sarif"],
  github: [],
  patch: [".yaml", ".yml"],
  binary: [],
} as const satisfies Record<string, readonly string[]>;

export type Kind = keyof typeof kinds;

/** Of the options of all commands. */
export interface Taken {
  readonly takes?: readonly Exclude<SharedName, "out">[];
  /** The kinds of its `--out`. */
  readonly writes?: readonly Kind[];
}

/** How a cluster is reached, and by whom. */
export const connection = ["context", "kubeconfig", "as"] as const;

/** @param takenBy what a command takes of them. */
export function addSharedOptions(program: Command, takenBy: (command: Command) => Taken): Command {
  for (const [name, [flags, text]] of Object.entries(shared)) {
    const option = new Option(flags, text);
    if (name === "lameduckNamespace") option.default(operatorNames.namespace);
    if (name === "out") option.argParser(collect);
    program.addOption(option);
  }
  return program.hook("preAction", (_, command) => {
    mustNameSomething(program);
    mustNameSomething(command);
    handOver(program, command, takenBy(command));
  });
}

/** @throws {CliError} LAMEDUCK_BAD_OPTION for an empty word in place of a file or another name: a shell leaves it where a variable is not set. */
function mustNameSomething(command: Command): void {
  const isEmpty = (value: unknown): boolean =>
    [value].flat().some((one) => typeof one === "string" && one.trim() === "");
  const option = command.options.find(
    (one) =>
      /(?:file|manifest|source)>/.test(one.flags) && isEmpty(command.getOptionValue(one.attributeName())),
  );
  // The words of a user's own program may be empty.
  const argument = command.registeredArguments.find(
    (one, index) => one.name() !== "command" && isEmpty(command.processedArgs[index]),
  );
  const place = option?.long ?? (argument && `lameduck ${command.name()}, ${argument.name()}`);
  if (place === undefined) return;
  const remedy = "write a name there; is a variable of your shell not set?";
  throw new CliError("LAMEDUCK_BAD_OPTION", place, "an empty name was given", { remedy });
}

/** Those that a command takes, as its help shows them. */
export function sharedOptions(program: Command, { takes = [], writes = [] }: Taken): Option[] {
  const taken = program.options.filter((option) => takes.some((name) => name === option.attributeName()));
  const [flags] = shared.out;
  return writes.length === 0 ? taken : [...taken, new Option(flags, textOfOut(writes))];
}

function textOfOut(writes: readonly Kind[]): string {
  const [only, ...others] = writes.map((kind) =>
    kinds[kind].length === 0 ? kind : `${kind} (${kinds[kind].join(", ")})`,
  );
  return others.length === 0 && only !== undefined
    ? `write it as ${only}; - is stdout`
    : `write it as a file of another kind, by its ending or as KIND=FILE: ${[only, ...others].join(", ")}; may be repeated; - is stdout`;
}

/** Gives a command the options that it takes. @throws {CliError} LAMEDUCK_BAD_OPTION for another that was given. */
function handOver(program: Command, command: Command, { takes = [], writes = [] }: Taken): void {
  for (const option of program.options) {
    const name = option.attributeName();
    const value: unknown = program.getOptionValue(name);
    const source = program.getOptionValueSource(name);
    if (source === undefined) continue;
    if (takes.some((one) => one === name)) command.setOptionValueWithSource(name, value, source);
    else if (name === "out" && writes.length > 0) setFiles(command, value as readonly string[], writes);
    else if (source === "cli")
      throw badOption(option.long ?? name, `means nothing to lameduck ${command.name()}`);
  }
}

/** `--out report.html` is the command's file of kind html. */
function setFiles(command: Command, given: readonly string[], writes: readonly Kind[]): void {
  for (const text of given) {
    const [kind, file] = kindOf(text, writes);
    if (command.getOptionValue(kind) !== undefined)
      throw badOption(`--out ${text}`, `there is another file of kind ${kind}`);
    command.setOptionValueWithSource(kind, file, "cli");
  }
}

function kindOf(text: string, writes: readonly Kind[]): readonly [Kind, string] {
  const [, name = "", rest = ""] = /^([a-z]+)=(.*)$/s.exec(text) ?? [];
  const named = writes.find((kind) => kind === name);
  if (named && rest !== "") return [named, rest];
  const [only, ...others] = writes;
  const byEnding = writes.find((kind) => kinds[kind].some((ending) => text.endsWith(ending)));
  const kind = byEnding ?? (others.length === 0 && !text.endsWith(".json") ? only : undefined);
  if (kind && text !== "") return [kind, text];
  throw badOption(
    `--out ${text}`,
    text.endsWith(".json")
      ? "JSON is written by --json FILE"
      : `write KIND=FILE, with one of the kinds ${writes.join(", ")}`,
  );
}
