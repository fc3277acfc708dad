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
      "Copy the binary lameduck-init, PID 1 or preStop hook for any software, to the file of --out. Without --out print where it is.",
    )
    .addOption(
      new Option("--arch <name>", "processor of the containers (default: that of this machine)").choices([
        "amd64",
        "arm64",
      ]),
    )
    .addHelpText("after", examples)
    .action(({ arch, binary }: { arch?: "amd64" | "arm64"; binary?: string }) => {
      // The name that Kubernetes has for it; Node has another.
      const path = initBinary(arch === "amd64" ? "x64" : arch);
      if (binary === undefined) {
        process.stdout.write(`${path}\n`);
        return;
      }
      try {
        if (binary === "-") return void process.stdout.write(readFileSync(path));
        copyFileSync(path, binary);
        chmodSync(binary, 0o755);
      } catch (error) {
        throw new CliError("LAMEDUCK_CANNOT_WRITE", `--out ${binary}`, fileProblem(error));
      }
    });
}

const examples = ending(
  `
Examples:
  $ lameduck init-binary -o lameduck-init
  $ lameduck init-binary --arch arm64 -o lameduck-init-arm64
  $ kubectl create configmap lameduck-hook --from-file=lameduck-init

\`lameduck-init --help\` describes the binary itself.`,
  "0 done, 2 usage, 3 internal, 4 this installation has no binary",
  "docs/reference/init.md",
);
