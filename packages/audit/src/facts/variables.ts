import { fromField, assumed, type Amount } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import { unknown } from "../model/shell/scope.ts";
import { serverOf } from "../model/software.ts";

/** A name and a value that the container's program is given: by an argument, or by a variable. */
export interface Given {
  /** Without dashes, in lower case, with `-` for `_` and `.`. */
  readonly name: string;
  /** Undefined where it comes from something that was not read. */
  readonly value: string | undefined;
  /** The variable of the container that says it itself. */
  readonly variable?: string;
  readonly amount: (called: string, seconds: number) => Amount;
}

/** Variables that hold arguments of the program, or properties of a virtual machine. */
const holders =
  /^(?:GUNICORN_CMD_ARGS|NODE_OPTIONS|(?:_?JAVA|JAVA_TOOL|JDK_JAVA|CATALINA|JVM|KAFKA|SOLR|JETTY)_(?:OPTS|OPTIONS|ARGS)|JAVA_OPTS_APPEND|JAVA_ADDITIONAL_OPTS)$/;

/** All that is given, what wins before what it overrides: arguments, then what variables hold, then variables. */
export function* givenTo(container: Container): Iterable<Given> {
  const { argv, field, env, variables, served } = container;
  const own = [...field.at("command").items(), ...field.at("args").items()];
  const isOfImage = own.length === 0;
  const words = served?.argv.length ? served.argv : (argv ?? own.map((word) => word.text() ?? ""));
  for (const [name, value, word] of options(words)) {
    const at =
      own.find((one) => one.text() === word) ??
      own.find((one) => one.text()?.includes(word)) ??
      container.argvField;
    const amount: Given["amount"] = (called, seconds) =>
      isOfImage
        ? assumed(called, seconds, `the image says ${word}${word.includes("=") ? "" : ` ${value}`}`)
        : fromField(called, seconds, at);
    yield { name: plain(name), value: isUnknown(value) ? undefined : value, amount };
  }
  for (const [variable, value] of env) {
    const amount = amountOf(container, variable, value);
    if (holders.test(variable))
      for (const [name, inner] of options(wordsOf(value))) yield { name: plain(name), value: inner, amount };
    if (variable === "SPRING_APPLICATION_JSON")
      for (const [name, inner] of properties(value)) yield { name: plain(name), value: inner, amount };
  }
  for (const [variable, value] of variables.values) {
    const known = value.includes(unknown) ? undefined : value;
    yield { name: plain(variable), value: known, variable, amount: amountOf(container, variable, value) };
  }
}

function amountOf({ envFields }: Container, variable: string, value: string): Given["amount"] {
  const at = envFields.get(variable);
  return (called, seconds) =>
    at === undefined
      ? assumed(called, seconds, `the image sets ${variable}=${value}`)
      : fromField(called, seconds, at);
}

/** Kubernetes leaves `$(NAME)` as it stands where it knows no such variable. */
function isUnknown(value: string): boolean {
  return value.includes(unknown) || /\$\(\w+\)/.test(value);
}

/** `--name value`, `--name=value`, `-Dname=value` */
function* options(words: readonly string[]): Iterable<readonly [name: string, value: string, word: string]> {
  for (const [index, word] of words.entries()) {
    const [, name = "", inline] = /^-(?:-|D)?([\w.-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name !== "") yield [name, inline ?? words[index + 1] ?? "", word];
  }
}

/** The words of a text, split at blanks that are not quoted: no variable and no operator of a shell means anything in it. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === "\\" && quote !== "'") word = `${word ?? ""}${text[++at] ?? ""}`;
    else if (quote === "" ? char === "'" || char === '"' : char === quote) {
      quote = quote === "" ? char : "";
      word ??= "";
    } else if (quote === "" && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = `${word ?? ""}${char}`;
  }
  return word === undefined ? words : [...words, word];
}

/** The server's name: by the command line, else by variables that only one server reads. */
export function serverIn({ served, argv, variables }: Container): string {
  const words = served?.argv ?? [];
  if (argv !== undefined || words.length > 0) return serverOf(words);
  const names = [...variables.values.keys()];
  if (names.includes("GUNICORN_CMD_ARGS")) return "gunicorn";
  return names.some((name) => name.startsWith("UVICORN_")) ? "uvicorn" : "";
}

/** "spring.lifecycle.x" of `{ "spring": { "lifecycle": { "x": 1 } } }` and of `{ "spring.lifecycle.x": 1 }` */
function properties(text: string): [string, string][] {
  const found: [string, string][] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) found.push([path, String(value)]);
    else for (const [key, one] of Object.entries(value)) walk(one, path === "" ? key : `${path}.${key}`);
  };
  try {
    walk(JSON.parse(text), "");
  } catch {
    return [];
  }
  return found;
}

export function plain(name: string): string {
  return name.toLowerCase().replace(/[_.]/g, "-");
}

const units: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600 };

/**
 * "20s", "20", "20000" of something in milliseconds, "1m30s", "PT20S", "00:00:20".
 *
 * @param unit of a bare number; guessed from the name and the number where nobody knows it
 */
export function secondsOf(value: string, name: string, unit?: "s" | "ms"): number | undefined {
  const text = value.trim().toLowerCase().replace(/^pt/, "");
  if (/^\d+(?:\.\d+)?$/.test(text)) {
    const number = Number(text);
    const isMilliseconds =
      unit === undefined ? /(?:-|\b)ms$|millis/.test(name) || number >= 1_000 : unit === "ms";
    return isMilliseconds ? number / 1_000 : number;
  }
  const [, hours, minutes, rest] = /^(\d+):(\d+):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (hours !== undefined) return Number(hours) * 3_600 + Number(minutes) * 60 + Number(rest);
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([whole]) => whole).join("") !== text) return undefined;
  return parts.reduce((sum, [, digits, unit]) => sum + Number(digits) * units[unit!]!, 0);
}
