import { Command } from "commander";
import { enterStage, insideStage, OtherPortError } from "@lameduck/stage";
import { say } from "../output.ts";
import { conduct, isRepeatable } from "./conduct.ts";
import { addLabOptions, type LabOptions } from "./options.ts";
import { labSettings } from "./settings.ts";

/** `lameduck lab`: rollouts under load on this machine. */
export function labCommand(exit: (code: number) => void): Command {
  const command = addLabOptions(
    new Command("lab")
      .description(
        "Roll servers on this machine under load, with and without remedies, and account for every lost request.",
      )
      .argument(
        "[command...]",
        "the server and its arguments, after --; without one, the manifest's, or a bundled sample",
      ),
  );
  return command.action(async (argv: string[], options: LabOptions) => {
    // Mistakes are reported before a namespace is entered. Standard input can be read only once: inside.
    if (!insideStage() && options.file !== "-") await labSettings(options, argv);
    // What is run inside is this very command line, so that there is one way of reading it.
    const [, program = "", ...rest] = process.argv;
    exit(
      insideStage()
        ? await conductWherePodsListen(argv, options)
        : await enterStage(program, rest, {
            network: options.network,
            allow: options.allow ?? [],
            writable: options.writable ?? [],
            say,
          }),
    );
  });
}

/** A program that does not take its port from PORT is met where it listens. */
async function conductWherePodsListen(argv: readonly string[], options: LabOptions): Promise<number> {
  try {
    return await conduct(await labSettings(options, argv), options);
  } catch (error) {
    const [port] = error instanceof OtherPortError ? error.ports : [];
    if (port === undefined || !isRepeatable(options)) throw error;
    say(`the program listens on port ${port}: going there`);
    const found = { ...options, port };
    return conduct(await labSettings(found, argv), found);
  }
}
