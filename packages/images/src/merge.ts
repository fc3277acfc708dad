import { constants } from "node:os";
import type {
  ContainerRoot,
  ContainerTemplate,
  InitContainerTemplate,
  Security,
  Workload,
} from "@lameduck/manifests";
import type { ImageConfig } from "./config.ts";
import { ImageError } from "./errors.ts";
import { textIn, usualPath } from "./in-root.ts";
import type { LocalImage } from "./local-images.ts";

interface Merged {
  readonly workload: Workload;
  /** Which container runs what, in sentences. */
  readonly notes: readonly string[];
}

interface MergeOptions {
  /** A program was given for the serving container. Others, of which there is neither image nor command, are left out then. */
  readonly isProgramGiven?: boolean;
  /** Whether a container's own command may be a program of this machine, where its image is not here. */
  readonly ownPrograms?: boolean;
  /** Why no image can be run here. */
  readonly because?: string | undefined;
}

/** Finds an image on this machine. */
export type FindImage = (name: string) => Promise<LocalImage | undefined>;

/**
 * Puts images under the containers that name them, as the kubelet does: the manifest's command, arguments, variables, user and directory
 * win over the image's.
 * @throws {ImageError}
 */
export async function withImages(
  workload: Workload,
  find: FindImage,
  { isProgramGiven = false, ownPrograms = true, because }: MergeOptions = {},
): Promise<Merged> {
  const { template } = workload;
  const notes: string[] = [];
  const place = async <T extends ContainerTemplate>(containers: readonly T[]): Promise<T[]> => {
    const placed: T[] = [];
    for (const container of containers) {
      const { image, name, command } = container;
      const found = image && because === undefined ? await find(image.name) : undefined;
      const whyNot = because === undefined ? "is not on this machine" : `cannot be run here: ${because}`;
      if (found) {
        placed.push(onImage(container, found));
        notes.push(`container ${name} runs the image ${found.name}, from ${found.origin}`);
      } else if (!image) placed.push(container);
      else if (command.length > 0 && ownPrograms) {
        placed.push(container);
        notes.push(`container ${name} runs a program of this machine: the image ${image.name} ${whyNot}`);
      } else if (isProgramGiven)
        notes.push(`container ${name} is left out: the image ${image.name} ${whyNot}`);
      else {
        const code = because === undefined ? "LAMEDUCK_IMAGE_NOT_HERE" : "LAMEDUCK_IMAGE_NEEDS_NAMESPACES";
        throw new ImageError(code, image.place, `the image ${image.name} ${whyNot}`);
      }
    }
    return placed;
  };
  const initContainers: InitContainerTemplate[] = await place(template.initContainers);
  const containers = await place(template.containers);
  return { workload: { ...workload, template: { ...template, initContainers, containers } }, notes };
}

/** A container with what its image says, and the manifest does not. */
export function onImage<T extends ContainerTemplate>(container: T, image: LocalImage): T {
  const { config, name } = image;
  const command = container.command.length > 0 ? container.command : imageCommand(container, config);
  if (command.length === 0)
    throw new ImageError("LAMEDUCK_IMAGE_NO_PROGRAM", name, "the image has neither Entrypoint nor Cmd");
  const { args: _args, ...rest } = container;
  const stopSignal = container.stopSignal ?? stopSignalOf(config, name);
  return {
    ...(rest as T),
    command,
    workingDirectory: container.workingDirectory ?? config.WorkingDir ?? "/",
    ...(stopSignal === undefined ? {} : { stopSignal }),
    root: rootOf(container, image),
  };
}

function imageCommand({ args }: ContainerTemplate, { Entrypoint = [], Cmd = [] }: ImageConfig): string[] {
  return [...literal(Entrypoint), ...(args ?? literal(Cmd))];
}

/** The kubelet looks for `$(NAME)` in the manifest's words only. */
function literal(words: readonly string[]): string[] {
  return words.map((word) => word.replaceAll("$", () => "$$"));
}

/** "SIGQUIT", "QUIT", "3"; undefined for SIGTERM. */
function stopSignalOf({ StopSignal: text }: ImageConfig, place: string): string | undefined {
  if (text === undefined) return undefined;
  const signals = Object.entries(constants.signals);
  const wanted = text.toUpperCase();
  const [name] = signals.find(([one, number]) => [one, one.slice(3), String(number)].includes(wanted)) ?? [];
  if (name === undefined)
    throw new ImageError(
      "LAMEDUCK_IMAGE_STOP_SIGNAL",
      place,
      `its STOPSIGNAL is ${text}, which the lab cannot send`,
    );
  return name === "SIGTERM" ? undefined : name;
}

const noSecurity: Security = { groups: [], droppedCapabilities: [] };

function rootOf(
  { security = noSecurity }: ContainerTemplate,
  { root, config, name: image }: LocalImage,
): ContainerRoot {
  const table = (file: string): string[][] =>
    textIn(root, file)
      .split("\n")
      .map((line) => line.split(":"));
  const users = table("/etc/passwd");
  const groups = table("/etc/group");
  const [userText = "", groupText] = (config.User ?? "").split(":", 2);
  const wanted = security.user === undefined ? userText || "0" : String(security.user);
  const isNumber = /^\d{1,10}$/.test(wanted);
  const fail = (problem: string): never => {
    throw new ImageError("LAMEDUCK_IMAGE_USER", image, problem);
  };
  const entry = users.find(([name, , uid]) =>
    isNumber ? Number(uid) === Number(wanted) && uid !== "" : name === wanted,
  );
  if (!entry && !isNumber) fail(`there is no user ${wanted} in the image`);
  const user = Number(isNumber ? wanted : entry![2]);
  if (security.mustNotBeRoot && user === 0) fail("runAsNonRoot is set, and the image runs as root");
  if (security.mustNotBeRoot && !isNumber)
    fail(`runAsNonRoot is set, and the image's user ${wanted} is no number: the kubelet refuses it`);
  const group = security.group ?? groupOf(groupText, groups, fail) ?? Number(entry?.[3] ?? 0);
  const memberships = groups
    .filter(([, , , members]) => entry?.[0] !== undefined && members?.split(",").includes(entry[0]))
    .map(([, , gid]) => Number(gid));
  const own = Object.fromEntries(
    (config.Env ?? []).map((one) => [one.split("=", 1)[0]!, one.slice(one.indexOf("=") + 1)]),
  );
  return {
    path: root,
    env: { PATH: usualPath, HOME: entry?.[5] || "/", ...own },
    user,
    group,
    groups: [...new Set([...memberships, ...security.groups])].filter((one) => Number.isInteger(one)),
  };
}

function groupOf(
  text: string | undefined,
  groups: readonly string[][],
  fail: (problem: string) => never,
): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,10}$/.test(text)) return Number(text);
  const entry = groups.find(([name]) => name === text);
  return entry ? Number(entry[2]) : fail(`there is no group ${text} in the image`);
}

/** The one port that an image says it serves on; undefined where it names none, or several. */
export function exposedPort({ ExposedPorts = [] }: ImageConfig): number | undefined {
  const ports = ExposedPorts.flatMap((port) => /^(\d{1,5})(?:\/tcp)?$/.exec(port)?.[1] ?? []).map(Number);
  return ports.length === 1 && ports[0]! > 0 && ports[0]! < 65_536 ? ports[0] : undefined;
}
