import { Command, CommanderError, Help } from "commander";
import { version, withAddresses } from "./about.ts";
import { commandsFor, takenBy } from "./commands.ts";
import { badOption, type CliError } from "./errors.ts";
import { exitCodes, exitCodesText } from "./exit-codes.ts";
import { ending } from "./help/ending.ts";
import { report } from "./failure.ts";
import { surviveReaders } from "./output.ts";
import { addSharedOptions, sharedOptions } from "./shared.ts";

/** Runs the command line and returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  surviveReaders();
  let exitCode: number = exitCodes.clean;
  const program: Command = addSharedOptions(new Command("lameduck"), takenBy)
    .description("Keeps deleted Kubernetes pods serving until traffic has moved away, and proves it.")
    .version(version())
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions: (command) => sharedOptions(program, takenBy(command)),
      styleTitle: (title) => (title === "Global Options:" ? "As in other commands:" : title),
      // Before lines are wrapped: an address is longer than a path.
      optionDescription: (option) => withAddresses(Help.prototype.optionDescription(option)),
      argumentDescription: (argument) => withAddresses(Help.prototype.argumentDescription(argument)),
    })
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => void process.stdout.write(withAddresses(text)),
      writeErr: (text) => void process.stderr.write(withAddresses(text)),
    })
    .addHelpText("after", ending(start, exitCodesText, "docs/understand/how-it-works.md"));
  const exit = (code: number): number => (exitCode = code);
  for (const command of await commandsFor(argv[2], exit))
    program.addCommand(command.copyInheritedSettings(program));
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error);
    if (error.exitCode === 0) return exitCodes.clean;
    const command = program.commands.find((one) => argv.includes(one.name()));
    return error.code === "commander.help" ? exitCodes.usage : report(usageError(error, command));
  }
}

const start = `
Examples that change nothing in a cluster:
  $ lameduck audit deploy/                     will these manifests lose requests?
  $ lameduck lab -- node server.js             and this server, on this machine?
  $ lameduck rollout deployment/web --restart --dry-run
  $ lameduck install --dry-run

\`lameduck help COMMAND\` lists the options of a command, with examples. \`lameduck help PAGE\`
prints a page that is named as docs/..., and \`lameduck help CODE\` explains an error.`;

/** Commander's own mistakes in the form that all others have. */
function usageError({ message }: CommanderError, command: Command | undefined): CliError {
  const problem = message
    .replace(/^error: /, "")
    .replace(/\s*\n\s*/g, " ")
    .replace(
      /^(?:command-argument value|(option) '(?:-\w, )?(\S+)[^']*' argument) '(.*)' is invalid.* Allowed choices are (.*)\.$/,
      (_, option?: string, flag = "", value = "", choices = "") =>
        `${option ? `${flag}: ` : ""}"${value}" is none of ${choices}`,
    )
    .replace(/^missing required argument '(\w+)'$/, "the argument $1 is missing");
  return badOption(command ? `lameduck ${command.name()}` : "lameduck", problem);
}
