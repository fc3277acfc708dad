import type { Command, Option } from "commander";

/** What may follow an option on the command line. */
type Value = "none" | "anything" | "file" | readonly string[];

export interface OptionShape {
  /** "--rps", and "-y" where there is a short one. */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: Value;
}

export interface CommandShape {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionShape[];
}

/** The commands as completion has to know them. */
export function shapesOf(program: Command): CommandShape[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => shapeOf(command));
}

function shapeOf(command: Command): CommandShape {
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return {
    name: command.name(),
    description: firstSentence(command.description()),
    options: options.map(optionOf),
  };
}

function optionOf(option: Option): OptionShape {
  const { long, short, description } = option;
  return {
    names: [long, short].filter((name) => name !== undefined && name !== null),
    description: firstSentence(description),
    value: valueOf(option),
  };
}

function valueOf({ flags, argChoices, required, optional }: Option): Value {
  if (argChoices) return argChoices;
  if (!required && !optional) return "none";
  return /[<[](?:\[?\w+=\]?)?(?:file|folder|path)/.test(flags) ? "file" : "anything";
}

function firstSentence(text: string): string {
  return text.split(/\.\s|\n/)[0] ?? "";
}
