import { baseFactsOf } from "./base-images.ts";

/** What an image says of the process that runs in it. */
export interface ImageFacts {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** "SIGQUIT"; undefined where the image sets none, which means SIGTERM. */
  readonly stopSignal?: string;
  /** The image is built on another one, of which it is not known whether it sets a stop signal. */
  readonly isBaseUnknown?: boolean;
  /** The image that it is built on. */
  readonly base?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where it stands. */
  readonly origin: string;
}

interface Stage extends ImageFacts {
  readonly shell: readonly string[];
}

const usualShell: readonly string[] = ["/bin/sh", "-c"];

/** The facts of the last stage, with those of its base image where that is known. @returns undefined without FROM. */
export function factsOfDockerfile(text: string, file: string): ImageFacts | undefined {
  const stages = new Map<string, Stage>();
  const defaults = new Map<string, string>();
  let stage: Stage | undefined;
  let name = "";
  for (const [instruction, rest] of instructionsOf(text)) {
    if (instruction === "FROM") {
      const [, from = "", as = ""] = /^(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?/i.exec(rest) ?? [];
      const base = expanded(from, defaults);
      stage = stages.get(base.toLowerCase()) ?? startOf(base, file);
      name = as.toLowerCase();
    } else if (stage === undefined) {
      if (instruction === "ARG") setVariables(defaults, rest);
      continue;
    } else stage = after(stage, instruction, rest, file);
    if (name !== "") stages.set(name, stage);
  }
  if (stage === undefined) return undefined;
  const { shell: _shell, ...facts } = stage;
  return facts;
}

function startOf(base: string, file: string): Stage {
  const { isUnknown, ...facts } = baseFactsOf(base);
  return { ...facts, isBaseUnknown: isUnknown, base, shell: usualShell, origin: file };
}

function after(stage: Stage, instruction: string, rest: string, origin: string): Stage {
  const { shell } = stage;
  const variables = new Map(Object.entries(stage.env ?? {}));
  switch (instruction) {
    case "SHELL":
      return { ...stage, shell: wordsOf(rest, shell) };
    case "ENTRYPOINT":
      // A CMD of the base image is dropped by a new ENTRYPOINT.
      return { ...stage, origin, entrypoint: wordsOf(rest, shell), cmd: [] };
    case "CMD":
      return { ...stage, origin, cmd: wordsOf(rest, shell) };
    case "STOPSIGNAL":
      return { ...stage, origin, stopSignal: expanded(rest, variables), isBaseUnknown: false };
    case "ENV":
    case "ARG":
      setVariables(variables, rest);
      return { ...stage, env: Object.fromEntries(variables) };
    default:
      return stage;
  }
}

/** Instructions with what follows them: joined lines, without comments and the texts of here-documents. */
function* instructionsOf(text: string): Iterable<readonly [name: string, rest: string]> {
  const escape = /^\s*#\s*escape\s*=\s*`/i.test(text) ? "`" : "\\";
  let joined = "";
  let document: string | undefined;
  for (const line of text.split(/\r?\n/)) {
    if (document !== undefined) {
      if (line.replace(/^\t+/, "") === document) document = undefined;
      continue;
    }
    if (/^\s*#/.test(line)) continue;
    const trimmed = line.trimEnd();
    if (trimmed.endsWith(escape)) {
      joined += `${trimmed.slice(0, -1)} `;
      continue;
    }
    const [, name = "", rest = ""] = /^\s*([A-Za-z]+)\s+(.*)$/s.exec(joined + trimmed) ?? [];
    joined = "";
    if (name === "") continue;
    if (/^(?:RUN|COPY|ADD)$/i.test(name)) document = /<<-?\s*["']?(\w+)["']?/.exec(rest)?.[1];
    yield [name.toUpperCase(), rest.trim()];
  }
}

/** `A=b C="d e"`, and the old form `A b`. */
function setVariables(variables: Map<string, string>, text: string): void {
  if (!/^\w+=/.test(text)) {
    const [, name, value] = /^(\w+)\s+(.+)$/.exec(text) ?? [];
    if (name !== undefined && value !== undefined) variables.set(name, expanded(value, variables));
    return;
  }
  for (const [, name = "", double, single, bare = ""] of text.matchAll(
    /(\w+)=(?:"([^"]*)"|'([^']*)'|(\S*))/g,
  ))
    variables.set(name, single ?? expanded(double ?? bare, variables));
}

/** With "\0" for what is given when the image is built. */
function expanded(text: string, variables: ReadonlyMap<string, string>): string {
  return text
    .replace(/^["']|["']$/g, "")
    .replace(
      /\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))/g,
      (_, braced?: string, otherwise?: string, bare?: string) =>
        variables.get(braced ?? bare ?? "") ?? otherwise ?? "\0",
    );
}

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
