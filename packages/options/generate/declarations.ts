import { libraryNames, rows, type LibraryName, type Option } from "../src/index.ts";
import { sentencesOf } from "./words.ts";

const head = "// Written by `node packages/options/generate/main.ts` from packages/options/src/table.ts.\n";

/** packages/drain/src/options.ts */
export function drainOptions(): string {
  return `${head}import type { Learnt } from "./belief/learning.ts";
import type { Duration } from "./duration.ts";

/** Options of the user. Durations are "5s", "300ms" or milliseconds. */
export interface DrainOptions {
${libraryNames
  .filter((name) => rows[name].decides)
  .map(propertyOf)
  .join("\n")}
}
`;
}

/** packages/node/src/options/lameduck-options.ts */
export function lameduckOptions(): string {
  return `${head}import type { DrainOptions, Duration } from "@lameduck/drain";
import type { Environment } from "./environment.ts";
import type { FailingHealth } from "./health.ts";
import type { Logger } from "./logger.ts";
import type { ProbeOptions, StreamOptions } from "./requests.ts";

/** Everything may be left out. Durations are "5s", "300ms" or milliseconds. */
export interface LameduckOptions extends DrainOptions {
${libraryNames
  .filter((name) => !rows[name].decides)
  .map(propertyOf)
  .join("\n")}
}
`;
}

function propertyOf(name: LibraryName): string {
  return `${comment(rows[name])}\n  ${name}?: ${typeOf(rows[name])};`;
}

function typeOf({ kind, choices = [], library }: Option): string {
  if (library?.type !== undefined) return library.type;
  switch (kind) {
    case "duration":
      return "Duration";
    case "number":
    case "whole number":
      return "number";
    case "switch":
      return "boolean";
    case "choice":
      return choices.map((one) => JSON.stringify(one)).join(" | ");
    case "path":
    case "text":
      return "string";
    case "own":
      throw new Error("a value of a form of its own needs a TypeScript type");
  }
}

/** Characters in a line of a comment. */
const width = 110;

function comment(row: Option): string {
  const lines = wrapped(sentencesOf(row));
  return lines.length === 1
    ? `  /** ${lines[0]} */`
    : ["  /**", ...lines.map((line) => `   * ${line}`), "   */"].join("\n");
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
