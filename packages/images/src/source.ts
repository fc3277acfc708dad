import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileProblem } from "@lameduck/drain/common";
import { unreadable } from "./config.ts";
import { engines, type Engine } from "./engines.ts";

/** What `--image` names: `[NAME=]SOURCE`. */
export interface GivenImage {
  /** By which it is asked for: the image of a manifest, or the source as it was written. */
  readonly name: string;
  /** Its name, where that was given: an archive may hold several images. */
  readonly wanted?: string;
  readonly source: Source;
}

export type Source =
  /** The name of an image that an engine of this machine has. */
  | { readonly kind: "name"; readonly name: string; readonly engine?: Engine }
  | { readonly kind: "path"; readonly path: string };

/** "nginx:1.29", "podman:nginx", "./image.tar", "web:1=./rootfs" */
export function parseImage(text: string): GivenImage {
  // No name begins like a path, which may hold anything.
  const [, name, rest = text] = /^([^=./][^=]*)=(.+)$/s.exec(text) ?? [];
  const source = sourceOf(rest);
  return name === undefined ? { name: text, source } : { name, wanted: name, source };
}

function sourceOf(text: string): Source {
  if (/^(?:\/|\.{1,2}(?:\/|$))|\.(?:tar|tgz|tar\.(?:gz|zst))$/.test(text))
    return { kind: "path", path: resolve(text) };
  const [, engine, name] = new RegExp(`^(${engines.join("|")}):(.*/.*|.*:.*|[a-z].*)$`).exec(text) ?? [];
  // "podman:8080" would be a tag; no tag begins a name of an engine's own.
  return engine !== undefined && name !== undefined
    ? { kind: "name", name, engine: engine as Engine }
    : { kind: "name", name: text };
}

/** What a path leads to. @throws {ImageError} LAMEDUCK_IMAGE_UNREADABLE */
export function kindOfPath(path: string): "archive" | "folder" {
  try {
    const stat = statSync(path);
    if (stat.isDirectory()) return "folder";
    if (stat.isFile()) return "archive";
  } catch (error) {
    throw unreadable(path, fileProblem(error));
  }
  throw unreadable(path, "is neither a file nor a folder");
}
