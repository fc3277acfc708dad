import { Command, CommanderError } from "commander";
import { labCommand } from "./lab/command.ts";
import { exitCodes, report } from "./failure.ts";
import { version } from "./version.ts";

/** Runs the command line and returns the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let exitCode: number = exitCodes.clean;
  const program = new Command("lameduck")
    .description("Stops Kubernetes pods without losing a request, and proves it.")
    .version(version())
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .addHelpText("after", "\nExit codes: 0 clean, 1 requests lost, 2 usage, 3 internal.");
  program.addCommand(labCommand((code) => (exitCode = code)));
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.clean : exitCodes.usage;
    return report(error);
  }
}
