import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Client } from "./clients/conversation.ts";
import * as http from "./clients/http.ts";
import * as sessions from "./clients/sessions.ts";

const { arrive: _arrive, ask: _ask, ...overHttp } = http;

/** Those who talk to a program while it is terminated. Each notes what was answered, by a name that is the same in every run. */
export const clients = { ...overHttp, ...sessions } as const satisfies Record<string, Client>;

/** A way to end that public code has. Its program is a few lines, in one of groups/. */
export interface Idiom {
  readonly group: string;
  readonly name: string;
  /** For the page: what the program does at its end. */
  readonly what: string;
  /** Packages that the repository does not have. */
  readonly needs: readonly string[];
  /** Who talks to it. Default: requests of every kind over HTTP/1.1. */
  readonly client: keyof typeof clients;
  /** What is run instead of its own program: words, of which `node` is the Node under test. */
  readonly command: readonly string[] | undefined;
  readonly env: Readonly<Record<string, string>>;
  /** Default SIGTERM; none for a program that ends by itself. */
  readonly signal: NodeJS.Signals | "none";
  /** A second signal comes so many milliseconds after the first. */
  readonly again: number | undefined;
  /** Whether the signal goes to the whole process group, as a terminal sends it. */
  readonly toGroup: boolean;
  /** Whether requests that begin in the first moments after the signal are served in a pod. */
  readonly holds: boolean;
  /** Whether the way of exiting is the program's own will: then 0 is not as good. */
  readonly exitsAsIs: boolean;
  /** Lines that differ from run to run, such as process ids and durations: not compared. */
  readonly ignores: RegExp | undefined;
  /** A line that Lameduck causes, and that must be there with it. */
  readonly gives: string | undefined;
  /** Lameduck cannot be called in its code. */
  readonly onlyImport: boolean;
  /** From the signal to SIGKILL, milliseconds. */
  readonly graceMs: number;
  /** The oldest Node that knows its syntax. */
  readonly node: number;
  /** One of the ten that `npm test` runs. */
  readonly isQuick: boolean;
}

type Written = Partial<Omit<Idiom, "group" | "name">> & { readonly what: string };

/** @param parts of idioms' names, or names of groups; without any, all idioms. */
export async function idioms(parts?: readonly string[]): Promise<Idiom[]> {
  const folder = join(import.meta.dirname, "groups");
  const found: Idiom[] = [];
  for (const file of globSync("*.mjs", { cwd: folder }).sort()) {
    const { default: group } = (await import(pathToFileURL(join(folder, file)).href)) as {
      default: Record<string, Written>;
    };
    for (const [name, written] of Object.entries(group))
      found.push({
        group: basename(file, ".mjs"),
        name,
        needs: [],
        client: "http",
        command: undefined,
        env: {},
        signal: "SIGTERM",
        again: undefined,
        toGroup: false,
        holds: written.client !== "none",
        exitsAsIs: false,
        ignores: undefined,
        gives: undefined,
        onlyImport: false,
        graceMs: 12_000,
        node: 22,
        isQuick: false,
        ...written,
      });
  }
  const isChosen = ({ group, name }: Idiom): boolean =>
    parts?.some((part) => part === group || name.includes(part)) ?? true;
  return found.filter(isChosen);
}
