import type { PodTemplate } from "../manifest/template.ts";
import { StageError } from "./errors.ts";
import type { Network } from "./network/network.ts";
import { findCommand } from "./runtime/find-command.ts";

/** Where commands are looked for. */
export interface Machine {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
}

export function mustHaveCommands(
  template: PodTemplate,
  { env = process.env, directory = process.cwd() }: Machine,
): void {
  for (const { name, command, workingDirectory, env: own } of [
    ...template.initContainers,
    ...template.containers,
  ]) {
    const path = own.find((entry) => entry.name === "PATH");
    const search = path && "value" in path ? path.value : (env["PATH"] ?? "");
    const [program = ""] = command;
    if (program.includes("$(") || findCommand(program, search, workingDirectory ?? directory)) continue;
    throw new StageError(
      "LAMEDUCK_NO_SUCH_COMMAND",
      `container ${name}`,
      `there is no program "${program}" on this machine`,
    );
  }
}

export function mustHaveMountPoints(template: PodTemplate, network: Network): void {
  if (network.kind !== "shared loopback") return;
  for (const { name, mounts } of [...template.initContainers, ...template.containers]) {
    // Every pod has the machine's own /tmp then, which serves as long as its files do not clash.
    const missing = mounts.find(({ path }) => path !== "/tmp");
    if (missing)
      throw new StageError(
        "LAMEDUCK_MOUNT_MISSING",
        `container ${name}`,
        `volume ${missing.volume} cannot be mounted at ${missing.path} without mount namespaces`,
      );
  }
}
