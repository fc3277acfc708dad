import { Command, CommanderError } from "commander";
import { version, withAddresses } from "./about.ts";
import { auditCommand } from "./audit/command.ts";
import { completion } from "./completion/command.ts";
import { help } from "./help/command.ts";
import { initBinaryCommand, renamedInit } from "./init-binary/command.ts";
import { labCommand } from "./lab/command.ts";
import { rolloutCommand } from "./rollout/command.ts";
import { advise } from "./simulate/advise.ts";
import { simulate } from "./simulate/simulate.ts";
import { CliError } from "./errors.ts";
import { exitCodes, exitCodesText } from "./exit-codes.ts";
import { report } from "./failure.ts";
import { surviveReaders } from "./readers.ts";

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
  const commands = [
    labCommand(exit),
    rolloutCommand(exit),
    simulate(),
    advise(),
    auditCommand(exit),
    initBinaryCommand(),
  ];
  for (const command of [...commands, completion(), help()])
    program.addCommand(command.copyInheritedSettings(program));
  program.addCommand(renamedInit().copyInheritedSettings(program), { hidden: true });
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
