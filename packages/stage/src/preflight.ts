import type { PodTemplate } from "@lameduck/manifests";
import { isOwnTarget } from "@lameduck/load";
import { hasProgram, ImageError } from "@lameduck/images";
import { StageError } from "./errors.ts";
import type { Network } from "./network/network.ts";
import { findCommand } from "./runtime/find-command.ts";

/** Where commands are looked for. */
interface Machine {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly directory?: string;
}

export function mustHaveCommands(
  template: PodTemplate,
  { env = process.env, directory = process.cwd() }: Machine,
): void {
  for (const { name, command, workingDirectory, env: own, root } of [
    ...template.initContainers,
    ...template.containers,
  ]) {
    const path = own.find((entry) => entry.name === "PATH");
    const search = path && "value" in path ? path.value : ((root?.env ?? env)["PATH"] ?? "");
    const [program = ""] = command;
    if (program.includes("$(")) continue;
    const isThere = root
      ? root.files?.some(({ to }) => to === program) ||
        hasProgram(root.path, program, search, workingDirectory)
      : findCommand(program, search, workingDirectory ?? directory);
    if (isThere) continue;
    throw new StageError(
      "LAMEDUCK_NO_SUCH_COMMAND",
      `container ${name}`,
      `there is no program "${program}" ${root ? "in its image" : "on this machine"}`,
    );
  }
}

/** The root of an image takes namespaces, and an overlay in them. @throws {ImageError} LAMEDUCK_IMAGE_NEEDS_NAMESPACES */
export function mustRunImages(template: PodTemplate, { noImages }: Pick<Network, "noImages">): void {
  const one = [...template.initContainers, ...template.containers].find(({ root }) => root);
  if (one && noImages !== undefined)
    throw new ImageError("LAMEDUCK_IMAGE_NEEDS_NAMESPACES", `container ${one.name}`, noImages);
}

/** Probes and hooks go to the pod or to this machine: a manifest's own host would be another machine's server. */
export function mustStayHere(template: PodTemplate, { kind }: Pick<Network, "kind">): void {
  // Without namespaces the stage's own addresses would be somebody else's, too.
  const isHere = (host: string): boolean =>
    host === "localhost" || (isOwnTarget(host) && (kind !== "shared loopback" || !host.startsWith("198.")));
  for (const { name, ...container } of [...template.initContainers, ...template.containers])
    for (const key of ["startup", "liveness", "readiness", "postStart", "preStop"] as const) {
      const given = container[key];
      const handler = given && "handler" in given ? given.handler : given;
      if (handler?.kind !== "http" || handler.host === undefined || isHere(handler.host)) continue;
      throw new StageError(
        "LAMEDUCK_HOST_OUTSIDE",
        `container ${name}`,
        `${key} would ask ${handler.host}, which is outside of this machine`,
      );
    }
}

export function mustHaveMountPoints(template: PodTemplate, network: Network): void {
  if (network.kind !== "shared loopback") return;
  for (const { name, mounts } of [...template.initContainers, ...template.containers]) {
    // Every pod has the machine's own /tmp then, which serves as long as its files do not clash.
    const missing = mounts.find(({ path, volume }) => path !== "/tmp" && template.emptyDirs.includes(volume));
    if (missing)
      throw new StageError(
        "LAMEDUCK_MOUNT_MISSING",
        `container ${name}`,
        `volume ${missing.volume} cannot be mounted at ${missing.path} without mount namespaces`,
      );
  }
}
