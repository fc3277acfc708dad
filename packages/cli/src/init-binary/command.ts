import { chmodSync, copyFileSync } from "node:fs";
import { Command, Option } from "commander";
import { initBinary } from "@lameduck/init";
import { CliError } from "../errors.ts";
import { messageOf } from "@lameduck/drain/common";

/** `lameduck init-binary`: the static binary, for an image or a ConfigMap. */
export function initBinaryCommand(): Command {
  return new Command("init-binary")
    .description(
      "Print where the lameduck-init binary is, or copy it: PID 1 and preStop hook for software that is not Node (docs/init.md).",
    )
    .addOption(new Option("--arch <name>", "processor that the binary is for").choices(["x64", "arm64"]))
    .option("-o, --output <file>", "copy the binary to this file, executable")
    .action(({ arch, output }: { arch?: "x64" | "arm64"; output?: string }) => {
      const path = initBinary(arch);
      if (output === undefined) {
        process.stdout.write(`${path}\n`);
        return;
      }
      try {
        copyFileSync(path, output);
        chmodSync(output, 0o755);
      } catch (error) {
        throw new CliError("LAMEDUCK_CANNOT_WRITE", "--output", messageOf(error));
      }
    });
}

/** The name that the command had before: `init` reads as if it set something up. */
export function renamedInit(): Command {
  return new Command("init")
    .description("Is called `lameduck init-binary` now.")
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw new CliError("LAMEDUCK_RENAMED", "lameduck init", "is called lameduck init-binary now");
    });
}
