import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { configOf, mustBeForThisMachine, objectOf, unreadable, type ImageConfig } from "./config.ts";
import { ImageError } from "./errors.ts";

/** Programs that keep images on a machine. */
export const engines = ["docker", "podman", "nerdctl"] as const;

export type Engine = (typeof engines)[number];

/** What one of them says of an image that it has. */
export interface Known {
  readonly engine: Engine;
  /** Its ID there. */
  readonly id: string;
  readonly config: ImageConfig;
}

/** A daemon that does not answer is one that has nothing. */
const answerMs = 10_000;
const mostAnswerBytes = 4 << 20;

/** Asks one of them for an image. @returns undefined where it has none, is not there itself, or does not answer. */
export async function inspect(
  engine: Engine,
  image: string,
  signal: AbortSignal,
): Promise<Known | undefined> {
  // A name that begins with a dash would be an option.
  if (!/^[\w]/.test(image)) return undefined;
  const text = await answerOf(
    engine,
    ["image", "inspect", image],
    AbortSignal.any([signal, AbortSignal.timeout(answerMs)]),
  );
  signal.throwIfAborted();
  if (text === undefined) return undefined;
  const place = `${engine} image inspect ${image}`;
  try {
    const [first] = JSON.parse(text) as unknown[];
    const said = objectOf(first, place);
    mustBeForThisMachine({ os: textOr(said["Os"], "linux"), ...architectureOf(said["Architecture"]) }, image);
    return { engine, id: textOr(said["Id"], ""), config: configOf(said["Config"], place) };
  } catch (error) {
    if (error instanceof ImageError) throw error;
    throw unreadable(place, "prints what is no configuration of an image");
  }
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

function architectureOf(value: unknown): { readonly architecture?: string } {
  return typeof value === "string" && value !== "" ? { architecture: value } : {};
}

/** @returns what it prints; undefined where it fails, whatever the reason. */
function answerOf(engine: Engine, args: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(engine, args, { stdio: ["ignore", "pipe", "ignore"], signal, killSignal: "SIGKILL" });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.length > mostAnswerBytes) child.kill("SIGKILL");
    });
    child.on("error", () => resolve(undefined));
    child.on("close", (code) => resolve(code === 0 ? text : undefined));
  });
}

/** An image as an archive, as it comes out of the engine. */
interface Saving {
  readonly archive: Readable;
  /** @throws {ImageError} LAMEDUCK_IMAGE_ENGINE where the engine failed. */
  ended(): Promise<void>;
}

export function save(engine: Engine, image: string, signal: AbortSignal): Saving {
  const child = spawn(engine, ["save", image], {
    stdio: ["ignore", "pipe", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-2_000)));
  const closed = once(child, "close").then(
    ([code]) => ({ code: code as number | null }),
    () => ({ code: null }),
  );
  child.on("error", () => undefined);
  return {
    archive: child.stdout,
    ended: async () => {
      const { code } = await closed;
      signal.throwIfAborted();
      if (code !== 0)
        throw new ImageError(
          "LAMEDUCK_IMAGE_ENGINE",
          `${engine} save ${image}`,
          said.trim().split("\n").at(-1) || `it ended with ${code ?? "a signal"}`,
        );
    },
  };
}
