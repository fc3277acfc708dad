import { chmodSync, copyFileSync, readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { initBinary } from "@lameduck/init";
import { CliError } from "./errors.ts";
import { ending } from "./help/ending.ts";
import { fileProblem } from "@lameduck/drain/common";

/** `lameduck init-binary`: the static binary, for an image or a ConfigMap. */
export function initBinaryCommand(): Command {
  return new Command("init-binary")
    .description(
      "Copy the lameduck-init binary to a file, or print its path: PID 1 or preStop hook for any software.",
    )
    .addOption(
      new Option("--arch <name>", "processor of the containers (default: that of this machine)").choices([
        "x64",
        "arm64",
      ]),
    )
    .option(
      "-o, --output <file>",
      "copy the binary to this file, executable; - is stdout (default: print its path)",
    )
    .addHelpText("after", examples)
    .action(({ arch, output }: { arch?: "x64" | "arm64"; output?: string }) => {
      const path = initBinary(arch);
      if (output === undefined) {
        process.stdout.write(`${path}\n`);
        return;
      }
      try {
        if (output === "-") return void process.stdout.write(readFileSync(path));
        copyFileSync(path, output);
        chmodSync(output, 0o755);
      } catch (error) {
        throw new CliError("LAMEDUCK_CANNOT_WRITE", `--output ${output}`, fileProblem(error));
      }
    });
}

/** The name that the command had before: `init` reads as if it set something up. */
export function renamedInit(): Command {
  return new Command("init")
    .description("Renamed: use `lameduck init-binary`.")
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw new CliError("LAMEDUCK_RENAMED", "lameduck init", "is now called lameduck init-binary");
    });
}

const examples = ending(
  `
Examples:
  $ lameduck init-binary -o lameduck-init
  $ lameduck init-binary --arch arm64 -o lameduck-init-arm64
  $ kubectl create configmap lameduck-init --from-file=lameduck-init

\`lameduck-init --help\` describes the binary itself.`,
  "0 done, 2 usage, 3 internal, 4 this installation has no binary",
  "docs/init.md",
);
