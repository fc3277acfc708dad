import { basename } from "node:path";
import { AuditError } from "../errors.ts";

/** What an image says of the process that runs in it. */
export interface ImageFacts {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** "SIGQUIT"; undefined where the image sets none, which means SIGTERM. */
  readonly stopSignal?: string;
  /** Where it stands. */
  readonly origin: string;
}

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

/** The same, or the same but for the tag where one is not given. */
function isSameImage(given: string, image: string | undefined): boolean {
  return image !== undefined && (given === image || given === repositoryOf(image));
}

/** Without tag and digest. */
export function repositoryOf(image: string): string {
  // No regular expression: admission passes unchecked texts of megabytes.
  const [name = ""] = image.split("@", 1);
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

interface ImageConfig {
  readonly Entrypoint?: unknown;
  readonly Cmd?: unknown;
  readonly StopSignal?: unknown;
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
    origin: file,
  };
}

/** The facts of the last stage. What its base image says is not known, unless that is a stage of the same file. */
function fromDockerfile(text: string, file: string): ImageFacts {
  const stages = new Map<string, ImageFacts>();
  let facts: ImageFacts | undefined;
  let stage = "";
  let shell = usualShell;
  const joined = text.replace(/\\\r?\n/g, " ");
  for (const line of joined.split("\n")) {
    const [, instruction = "", rest = ""] = /^\s*([A-Za-z]+)\s+(.*?)\s*$/.exec(line) ?? [];
    const [, base = "", name = ""] = /^(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?/i.exec(rest) ?? [];
    switch (instruction.toUpperCase()) {
      case "FROM":
        facts = { ...stages.get(base), origin: file };
        stage = name;
        shell = usualShell;
        break;
      case "SHELL":
        shell = wordsOf(rest, shell);
        break;
      case "ENTRYPOINT":
        // A CMD of the base image is dropped by a new ENTRYPOINT.
        facts = { ...without(facts, "cmd"), origin: file, entrypoint: wordsOf(rest, shell) };
        break;
      case "CMD":
        facts = { ...facts, origin: file, cmd: wordsOf(rest, shell) };
        break;
      case "STOPSIGNAL":
        facts = { ...facts, origin: file, stopSignal: rest };
        break;
    }
    if (facts !== undefined && stage !== "") stages.set(stage, facts);
  }
  if (facts === undefined)
    throw new AuditError("LAMEDUCK_AUDIT_BAD_IMAGE", file, `${basename(file)} has no FROM`);
  return facts;
}

function without(facts: ImageFacts | undefined, key: "cmd"): Partial<ImageFacts> {
  return Object.fromEntries(Object.entries(facts ?? {}).filter(([name]) => name !== key));
}

const usualShell: readonly string[] = ["/bin/sh", "-c"];

/** The shell form runs below the stage's SHELL. */
function wordsOf(text: string, shell: readonly string[]): readonly string[] {
  try {
    const words: unknown = JSON.parse(text);
    if (Array.isArray(words)) return words.map(String);
  } catch {
    // The shell form.
  }
  return [...shell, text];
}
