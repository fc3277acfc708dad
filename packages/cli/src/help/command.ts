import { causes } from "@lameduck/accounting";
import { Command } from "commander";
import { hasPage, pageText, withAddresses } from "../about.ts";
import { CliError } from "../errors.ts";
import { exitCodeOfError, exitCodes } from "../exit-codes.ts";
import { errorCodes, remediesOf, type ErrorCode } from "./catalogue.ts";
import { meanings } from "./meanings.ts";

/** `lameduck help`: commands, and what every error code means. */
export function help(): Command {
  return new Command("help")
    .description(
      "Explain a command, an error code, a word of a report, a cause of loss or a rule of the audit.",
    )
    .argument(
      "[topic...]",
      "a command, an error code such as LAMEDUCK_NO_KUBECONFIG, a word such as oracle, a cause of loss such as C2, a rule such as no-lame-duck, or `codes` to list all error codes",
    )
    .action((words: readonly string[], _options: unknown, { parent }: Command) => {
      const topic = words.length === 0 ? undefined : words.join(" ");
      const command = topic === undefined ? parent : parent?.commands.find((one) => one.name() === topic);
      if (command) command.outputHelp();
      else
        process.stdout.write(
          topic === "codes" ? `${errorCodes().sort().join("\n")}\n` : explain(topic ?? ""),
        );
    });
}

/** A cause of loss, as its page explains it. */
function causeText(topic: string): string | undefined {
  const cause = Object.keys(causes).find((one) => one.toLowerCase() === topic.toLowerCase());
  const section = pageText("causes.md")
    .split(/^#{2,3} /m)
    .find((one) => one.startsWith(`${cause}: `));
  return section && `${section.trim()}\n\n${withAddresses("More: docs/causes.md")}\n`;
}

/** A word of reports, as their page explains it. "sleep-5" is a sleep-N. */
function wordText(topic: string): string | undefined {
  const plain = (word: string): string => word.toLowerCase().replaceAll(/[\s_-]+/g, " ");
  const wanted = plain(topic.replace(/^(sleep-)\d+$/i, "$1N"));
  const [, ...sections] = pageText("words.md").split(/^### /m);
  const section = sections.find((one) => plain(one.split("\n", 1)[0] ?? "") === wanted);
  return section && `${withAddresses(section.trim())}\n\n${withAddresses("More: docs/words.md")}\n`;
}

/** A rule of the audit, as its page explains it, without the examples. */
function ruleText(topic: string): string | undefined {
  const page = `audit/${topic}.md`;
  const [text] = /^[a-z-]+$/.test(topic) && hasPage(page) ? pageText(page).split("\n## ") : [];
  return text && `${text.slice("# ".length).trim()}\n\n${withAddresses(`More: docs/${page}`)}\n`;
}

/** @throws {CliError} where there is no such topic. */
export function explain(topic: string): string {
  const text = causeText(topic) ?? wordText(topic) ?? ruleText(topic);
  if (text !== undefined) return text;
  const name = topic.toUpperCase().replaceAll(/[\s-]+/g, "_");
  const code = name.startsWith("LAMEDUCK_") ? name : `LAMEDUCK_${name}`;
  const remedies = remediesOf(code);
  if (remedies.length === 0)
    throw new CliError(
      "LAMEDUCK_UNKNOWN_TOPIC",
      "lameduck help",
      `"${topic}" is no command, no error code, no cause of loss, no word of reports (docs/words.md) and no rule of the audit`,
    );
  const lines = remedies.map(({ of, remedy }) => `  ${remedies.length > 1 ? `${of}: ` : ""}${remedy}.`);
  const exitCode = exitCodeOfError(code);
  const what = exitCode === exitCodes.environment ? "cluster or environment" : "usage";
  return `${code}\n\nMeaning:\n  ${meanings[code as ErrorCode]}\nRemedy:\n${lines.join("\n")}\nExit code:\n  ${exitCode} (${what})\n`;
}
