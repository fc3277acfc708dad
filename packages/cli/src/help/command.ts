import { causes } from "@lameduck/accounting";
import { Command } from "commander";
import { pageText, withAddresses } from "../about.ts";
import { CliError } from "../errors.ts";
import { exitCodeOfError, exitCodes } from "../exit-codes.ts";
import { errorCodes, remediesOf, type ErrorCode } from "./catalogue.ts";
import { meanings } from "./meanings.ts";

/** `lameduck help`: commands, and what every error code means. */
export function help(): Command {
  return new Command("help")
    .description("Explain a command, an error code or a cause of loss.")
    .argument(
      "[topic]",
      "a command, an error code such as LAMEDUCK_NO_KUBECONFIG, a cause of loss such as C2, or `codes` to list all error codes",
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

/** @throws {CliError} where there is no such topic. */
export function explain(topic: string): string {
  const cause = causeText(topic);
  if (cause !== undefined) return cause;
  const code = topic.toUpperCase();
  const remedies = remediesOf(code);
  if (remedies.length === 0)
    throw new CliError(
      "LAMEDUCK_UNKNOWN_TOPIC",
      "lameduck help",
      `"${topic}" is no command, no error code and no cause of loss`,
    );
  const lines = remedies.map(({ of, remedy }) => `  ${remedies.length > 1 ? `${of}: ` : ""}${remedy}.`);
  const exitCode = exitCodeOfError(code);
  const what = exitCode === exitCodes.environment ? "cluster or environment" : "usage";
  return `${code}\n\nMeaning:\n  ${meanings[code as ErrorCode]}\nRemedy:\n${lines.join("\n")}\nExit code:\n  ${exitCode} (${what})\n`;
}
