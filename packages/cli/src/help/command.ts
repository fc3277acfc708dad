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
    .description("Explain a command, an error code, a cause of loss or a rule of the audit.")
    .argument(
      "[topic]",
      "a command, an error code such as LAMEDUCK_NO_KUBECONFIG, a cause of loss such as C2, a rule such as no-lame-duck, or `codes` to list all error codes",
    )
    .action((topic: string | undefined, _options: unknown, { parent }: Command) => {
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

/** A rule of the audit, as its page explains it, without the examples. */
function ruleText(topic: string): string | undefined {
  const page = `audit/${topic}.md`;
  const [text] = /^[a-z-]+$/.test(topic) && hasPage(page) ? pageText(page).split("\n## ") : [];
  return text && `${text.slice("# ".length).trim()}\n\n${withAddresses(`More: docs/${page}`)}\n`;
}

/** @throws {CliError} where there is no such topic. */
export function explain(topic: string): string {
  const text = causeText(topic) ?? ruleText(topic);
  if (text !== undefined) return text;
  const name = topic.toUpperCase().replaceAll(/[\s-]+/g, "_");
  const code = name.startsWith("LAMEDUCK_") ? name : `LAMEDUCK_${name}`;
  const remedies = remediesOf(code);
  if (remedies.length === 0)
    throw new CliError(
      "LAMEDUCK_UNKNOWN_TOPIC",
      "lameduck help",
      `"${topic}" is no command, no error code, no cause of loss and no rule of the audit`,
    );
  const lines = remedies.map(({ of, remedy }) => `  ${remedies.length > 1 ? `${of}: ` : ""}${remedy}.`);
  const exitCode = exitCodeOfError(code);
  const what = exitCode === exitCodes.environment ? "cluster or environment" : "usage";
  return `${code}\n\nMeaning:\n  ${meanings[code as ErrorCode]}\nRemedy:\n${lines.join("\n")}\nExit code:\n  ${exitCode} (${what})\n`;
}
