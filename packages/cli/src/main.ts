import { Command, CommanderError } from "commander";
import { version, withAddresses } from "./about.ts";
import { commandsFor } from "./commands.ts";
import { CliError } from "./errors.ts";
import { exitCodes, exitCodesText } from "./exit-codes.ts";
import { report } from "./failure.ts";
import { surviveReaders } from "./output.ts";

/** Runs the command line and returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  surviveReaders();
  let exitCode: number = exitCodes.clean;
  const program = new Command("lameduck")
    .description("Stops Kubernetes pods without losing a request, and proves it.")
    .version(version())
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => void process.stdout.write(withAddresses(text)),
    })
    .addHelpText("after", `\nExit codes: ${exitCodesText}.`);
  const exit = (code: number): number => (exitCode = code);
  for (const command of await commandsFor(argv[2], exit))
    program.addCommand(command.copyInheritedSettings(program), { hidden: command.name() === "init" });
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error);
    if (error.exitCode === 0) return exitCodes.clean;
    const command = program.commands.find((one) => one.name() === argv[2]);
    return error.code === "commander.help" ? exitCodes.usage : report(usageError(error, command));
  }
}

/** Commander's own mistakes in the form that all others have. */
function usageError({ message }: CommanderError, command: Command | undefined): CliError {
  const problem = message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
  return new CliError("LAMEDUCK_BAD_OPTION", command ? `lameduck ${command.name()}` : "lameduck", problem);
}
