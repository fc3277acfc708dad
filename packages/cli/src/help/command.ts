import { Command } from "commander";
import { CliError } from "../errors.ts";
import { exitCodeOfError, exitCodes } from "../exit-codes.ts";
import { errorCodes, remediesOf, type ErrorCode } from "./catalogue.ts";
import { meanings } from "./meanings.ts";

/** `lameduck help`: commands, and what every error code means. */
export function help(): Command {
  return new Command("help")
    .description("Explain a command or an error code.")
    .argument(
      "[topic]",
      "a command, an error code such as LAMEDUCK_NO_KUBECONFIG, or `codes` for all of them",
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

/** @throws {CliError} where there is no such code. */
export function explain(topic: string): string {
  const code = topic.toUpperCase();
  const remedies = remediesOf(code);
  if (remedies.length === 0)
    throw new CliError(
      "LAMEDUCK_UNKNOWN_TOPIC",
      "lameduck help",
      `"${topic}" is no command and no error code`,
    );
  const lines = remedies.map(({ of, remedy }) => `  ${remedies.length > 1 ? `${of}: ` : ""}${remedy}.`);
  const exitCode = exitCodeOfError(code);
  const what = exitCode === exitCodes.environment ? "cluster or environment" : "usage";
  return `${code}\n\nMeaning:\n  ${meanings[code as ErrorCode]}\nRemedy:\n${lines.join("\n")}\nExit code:\n  ${exitCode} (${what})\n`;
}
