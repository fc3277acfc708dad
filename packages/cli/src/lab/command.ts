import { Command } from "commander";
import { enterStage, insideStage } from "@lameduck/rollout";
import { conduct } from "./conduct.ts";
import { addLabOptions, type LabOptions } from "./options.ts";
import { labSettings } from "./settings.ts";

/** `lameduck lab`: rollouts under load on this machine. */
export function labCommand(exit: (code: number) => void): Command {
  const command = addLabOptions(
    new Command("lab")
      .description("Roll servers on this machine under load, with and without remedies, and account for every lost request.")
      .argument("[command...]", "the server and its arguments, after --; without one, a bundled sample"),
  );
  return command.action(async (argv: string[], options: LabOptions) => {
    const settings = labSettings(options, argv);
    // What is run inside is this very command line, so that there is one way of reading it.
    const [, program = "", ...rest] = process.argv;
    exit(
      insideStage()
        ? await conduct(settings, options)
        : await enterStage(program, rest, { network: options.network }),
    );
  });
}
