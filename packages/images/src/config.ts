import { shown } from "@lameduck/drain/common";
import { ImageError } from "./errors.ts";

/** What an image says about the process that runs in it. Names as in the OCI image specification. */
export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  /** "8080/tcp" */
  readonly ExposedPorts?: readonly string[];
}

type Plain = Readonly<Record<string, unknown>>;

/** JSON that other people wrote. @throws {ImageError} LAMEDUCK_IMAGE_UNREADABLE */
export function parsed(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable(place, "is no JSON");
  }
}

export function unreadable(place: string, problem: string): ImageError {
  return new ImageError("LAMEDUCK_IMAGE_UNREADABLE", place, problem);
}

export function objectOf(value: unknown, place: string): Plain {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw unreadable(place, "is no JSON object");
  return value as Plain;
}

export function textsOf(value: unknown, place: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
    throw unreadable(place, "is no list of texts");
  // A NUL ends a text for the kernel, wherever it stands.
  if (value.some((one) => one.includes("\0"))) throw unreadable(place, "holds a NUL");
  return value;
}

/** `config` of an OCI image, or `Config` as docker, podman and nerdctl print it. */
export function configOf(value: unknown, place: string): ImageConfig {
  const config = objectOf(value ?? {}, place);
  const text = (name: string): string | undefined => {
    const one = config[name];
    if (one === undefined || one === null || one === "") return undefined;
    return textsOf([one], `${place}: ${name}`)[0];
  };
  const texts = (name: string): Record<string, readonly string[]> => {
    const all = textsOf(config[name], `${place}: ${name}`);
    return all.length === 0 ? {} : { [name]: all };
  };
  const ports = Object.keys(objectOf(config["ExposedPorts"] ?? {}, `${place}: ExposedPorts`));
  const [user, directory, signal] = [text("User"), text("WorkingDir"), text("StopSignal")];
  return {
    ...texts("Entrypoint"),
    ...texts("Cmd"),
    ...texts("Env"),
    ...(user === undefined ? {} : { User: user }),
    ...(directory === undefined ? {} : { WorkingDir: directory }),
    ...(signal === undefined ? {} : { StopSignal: signal }),
    ...(ports.length === 0 ? {} : { ExposedPorts: ports }),
  };
}

/** Node's names of processors, in the words of images. */
const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

export function ownArchitecture(): string {
  return architectures[process.arch] ?? process.arch;
}

interface Platform {
  readonly os?: unknown;
  readonly architecture?: unknown;
}

/** Programs for another processor do not run here; an image that does not say for which it is may. */
export function isForThisMachine({ os, architecture }: Platform): boolean {
  return (os ?? "linux") === "linux" && (architecture ?? ownArchitecture()) === ownArchitecture();
}

export function mustBeForThisMachine(platform: Platform, place: string): void {
  if (isForThisMachine(platform)) return;
  const { os, architecture } = platform;
  throw new ImageError(
    "LAMEDUCK_IMAGE_OTHER_PLATFORM",
    place,
    `it is for ${shown(os ?? "linux")}/${shown(architecture ?? "?")}, and this machine runs linux/${ownArchitecture()}`,
  );
}
