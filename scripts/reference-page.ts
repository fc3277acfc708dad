/**
 * Writes docs/reference/options.md from the code: options, variables, events and exit codes. `--check` only compares, and exits with 1 where
 * they differ.
 */
import { readFileSync } from "node:fs";
import { Command, Help, type Option } from "commander";
import { commandsFor, takenBy } from "../packages/cli/src/commands.ts";
import { exitCodesText } from "../packages/cli/src/exit-codes.ts";
import { addSharedOptions, sharedOptions } from "../packages/cli/src/shared.ts";
import { optionHelp } from "../packages/options/generate/help.ts";
import { initFlags, libraryVariables } from "../packages/options/src/index.ts";
import { formatPage, markdownTable, writeMade } from "./format-page.ts";

const page = new URL("../docs/reference/options.md", import.meta.url);
const source = (path: string): string =>
  readFileSync(new URL(`../packages/${path}`, import.meta.url), "utf8");

const help = new Help();

function rowsOf(options: readonly Option[]): string {
  const rows = options.filter(({ long }) => long !== "--help" && long !== "--version");
  return rows.map((option) => `- \`${option.flags}\`: ${help.optionDescription(option)}.`).join("\n");
}

/** Options of all commands are named only. */
function optionsOf(command: Command): string {
  const shared = sharedOptions(program, takenBy(command));
  const named = shared.map(({ long }) => `\`${long}\``).join(", ");
  // Which kinds it writes is different for each.
  const out = shared.filter(({ long }) => long === "--out");
  return [
    `### \`lameduck ${command.name()}\``,
    command.description(),
    rowsOf([...help.visibleOptions(command), ...out]),
    shared.length === 0 ? "" : `As in other commands: ${named}.`,
  ].join("\n\n");
}

/** The text that `lameduck-init --help` prints: what stands around its options, from the source. */
function initHelp(): string {
  const help = source("init/src/cli/help.c");
  const textOf = (name: string): string => {
    const [, text = ""] = new RegExp(`static const char ${name}\\[\\] =\\n([\\s\\S]*?);\\n`).exec(help) ?? [];
    return [...text.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
      .map(([, part = ""]) => part.replaceAll("\\n", "\n").replaceAll('\\"', '"'))
      .join("");
  };
  return textOf("usage") + optionHelp() + textOf("endings");
}

function variableTable(): string {
  const cell = (text: string | undefined): string => (text === undefined ? "" : `\`${text}\``);
  const flags = new Map(initFlags.map(({ variable, flag }) => [variable, `--${flag}`]));
  const options = new Map(libraryVariables.map(({ variable, of }) => [variable, of]));
  const names = [...new Set([...options.keys(), ...flags.keys()])]
    .filter((name) => name !== undefined)
    .sort();
  return markdownTable(
    ["variable", "option of `@lameduck/node`", "flag of `lameduck-init`"],
    names.map((name) => [cell(name), cell(options.get(name)), cell(flags.get(name))]),
  );
}

/** Fields of an event, each with the comment that stands before it. */
function eventOf(name: string): string {
  const text = source("node/src/events.ts");
  const [, about = "", body = ""] =
    new RegExp(`/\\*\\* ([^\\n]*) \\*/\\nexport interface ${name}[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(text) ??
    [];
  const fields = [...body.matchAll(/(?:\/\*\* (.*?) \*\/\n\s*)?readonly (\w+)\??: (.*);/g)].map(
    ([, comment, field, type]) => `- \`${field}\`: \`${type}\`${comment === undefined ? "" : `. ${comment}`}`,
  );
  return [`### \`${name}\``, about, fields.join("\n")].join("\n\n");
}

const program = addSharedOptions(new Command(), takenBy);
const commands = (await commandsFor(undefined, (code) => code)).filter(
  (command) => command.name() !== "help",
);
const text = await formatPage(
  [
    "# Reference",
    "Options, variables, events and exit codes. [Errors](errors.md) are a page of their own.",
    "## Exit codes of `lameduck`",
    `${exitCodesText}.`,
    "## Options of `lameduck`",
    "### Of several commands",
    "They may stand before the command or behind it.",
    rowsOf(program.options),
    ...commands.map(optionsOf),
    "## `lameduck-init`",
    `\`\`\`text\n${initHelp()}\`\`\``,
    "## Variables",
    "In a pod's `env`. A flag or an option in code wins over its variable. [library](library.md) and [init](init.md) explain each.",
    variableTable(),
    "## Events of `@lameduck/node`",
    "One line of JSON each on stderr. `lameduck` is `phase` or `notice`; `at`, `pid` and, for phases, `elapsed` and `phase` stand in all.",
    ...["LameDuckEvent", "ClosingEvent", "HoldExplained", "WaitedFor", "ClosedEvent", "NoticeEvent"].map(
      eventOf,
    ),
    "",
  ].join("\n\n"),
);

writeMade(
  page,
  text,
  "docs/reference/options.md is not what the code says: run node scripts/reference-page.ts",
);
