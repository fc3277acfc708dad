import { basename } from "node:path";
import { AuditError } from "../errors.ts";
import { factsOfDockerfile, type ImageFacts } from "./dockerfile.ts";
import { repositoryOf } from "./image-name.ts";

export interface Images {
  /** @returns undefined where no configuration of the image was given. */
  factsOf(image: string | undefined): ImageFacts | undefined;
}

/** A Dockerfile, or what `crane config` and `docker inspect` print. */
export interface ImageFile {
  /** The image it is for; undefined for all. */
  readonly image: string | undefined;
  readonly file: string;
  readonly text: string;
}

/** @throws {AuditError} LAMEDUCK_AUDIT_BAD_IMAGE */
export function imagesOf(files: readonly ImageFile[]): Images {
  const known = files.map(({ image, file, text }) => ({
    image,
    facts: /^\s*[[{]/.test(text) ? fromConfig(text, file) : fromDockerfile(text, file),
  }));
  return {
    factsOf: (image) =>
      (
        known.find((one) => one.image !== undefined && isSameImage(one.image, image)) ??
        known.find((one) => one.image === undefined)
      )?.facts,
  };
}

/** The names are equal, or differ by a tag that one of them lacks. */
function isSameImage(given: string, image: string | undefined): boolean {
  return image !== undefined && (given === image || given === repositoryOf(image));
}

interface ImageConfig {
  readonly Entrypoint?: unknown;
  readonly Cmd?: unknown;
  readonly StopSignal?: unknown;
  readonly Env?: unknown;
}

function fromConfig(text: string, file: string): ImageFacts {
  const fail = (problem: string): never => {
    throw new AuditError("LAMEDUCK_AUDIT_BAD_IMAGE", file, problem);
  };
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return fail("is no JSON");
  }
  const first = (Array.isArray(json) ? json[0] : json) as {
    config?: ImageConfig;
    Config?: ImageConfig;
  } | null;
  const config = first?.config ?? first?.Config;
  if (typeof config !== "object") return fail("has no `config`");
  const words = (value: unknown, name: string): string[] => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
    return fail(`${name} is no list of texts`);
  };
  const { StopSignal: signal } = config;
  return {
    entrypoint: words(config.Entrypoint, "Entrypoint"),
    cmd: words(config.Cmd, "Cmd"),
    ...(typeof signal === "string" && signal !== "" ? { stopSignal: signal } : {}),
    env: Object.fromEntries(
      words(config.Env, "Env").map((one) => [one.split("=", 1)[0]!, one.slice(one.indexOf("=") + 1)]),
    ),
    origin: file,
  };
}

function fromDockerfile(text: string, file: string): ImageFacts {
  const facts = factsOfDockerfile(text, file);
  if (facts === undefined)
    throw new AuditError("LAMEDUCK_AUDIT_BAD_IMAGE", file, `${basename(file)} has no FROM`);
  return facts;
}
