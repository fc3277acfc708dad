import { messageOf } from "@lameduck/drain/common";
import { isMap, isScalar, LineCounter, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { SimulatorError } from "../errors.ts";

export type Path = readonly PropertyKey[];
/** Gives the place of a path in the scenario's source. */
export type Locate = (path: Path) => string;

/** What a file says, and where. @throws {SimulatorError} LAMEDUCK_SCENARIO_SYNTAX */
export function readSource(text: string, file: string): { said: unknown; place: Locate } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const at = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${line}:${col}`;
  };
  const [problem] = document.errors;
  if (problem) {
    const { code, message, pos } = problem;
    const words = code === "MULTIPLE_DOCS" ? "a second document begins here" : message;
    throw new SimulatorError("LAMEDUCK_SCENARIO_SYNTAX", at(pos[0]), words);
  }
  const place: Locate = (path) => {
    const key = path.at(-1);
    const offset = typeof key === "string" ? locateKey(document, path.slice(0, -1), key) : undefined;
    return offset === undefined ? locate(document, path, at, file) : at(offset);
  };
  try {
    return { said: (document.toJS() as unknown) ?? {}, place };
  } catch (error) {
    // Aliases that unfold to more than any scenario has.
    throw new SimulatorError("LAMEDUCK_SCENARIO_SYNTAX", file, messageOf(error));
  }
}

type Issue = z.core.$ZodIssue;

/** The first thing that is wrong, with its place. */
export function invalid(error: z.ZodError, place: Locate): SimulatorError {
  const issue = deepest(error.issues[0]!);
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    return bad(place([...issue.path, key]), `unknown key ${JSON.stringify(key)}`);
  }
  const where = place(issue.path);
  const field = issue.path.join(".");
  const words = wordsOf(issue);
  return bad(where, field === where ? words : `${field || "the scenario"}: ${words}`);
}

/** The checker's own words for these are a programmer's. */
function wordsOf(issue: Issue): string {
  switch (issue.code) {
    case "too_small":
      return `${mustBe(issue.origin)} ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}`;
    case "too_big":
      return `${mustBe(issue.origin)} ${issue.inclusive === false ? "below" : "at most"} ${issue.maximum}`;
    case "invalid_type":
      return issue.expected === "int" ? "must be a whole number" : issue.message;
    default:
      return issue.message;
  }
}

function mustBe(kind: string): string {
  return kind === "array" ? "must be a list of" : "must be";
}

/** The member of a union that was meant, if only one member has the keys and the kind of the value. */
function deepest(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue;
  const [meant, other] = issue.errors.filter((issues) => issues.every(isOfContent));
  const [inner] = meant ?? [];
  return inner && !other ? deepest({ ...inner, path: [...issue.path, ...inner.path] }) : issue;
}

function isOfContent({ code, path, message }: Issue): boolean {
  if (code === "unrecognized_keys") return false;
  return code !== "invalid_type" || (path.length > 0 && !message.includes("undefined"));
}

function bad(place: string, problem: string): SimulatorError {
  return new SimulatorError("LAMEDUCK_SCENARIO_INVALID", place, problem);
}

/** The place of the deepest thing on the path that exists. */
function locate(document: Document, path: Path, at: (offset: number) => string, file: string): string {
  for (let depth = path.length; depth >= 0; depth--) {
    const node = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    const range = (node as { range?: readonly [number, number, number] } | null | undefined)?.range;
    if (range) return at(range[0]);
  }
  return file;
}

/** The place of a field's name. */
function locateKey(document: Document, path: Path, key: string): number | undefined {
  const map = path.length === 0 ? document.contents : document.getIn(path, true);
  if (!isMap(map)) return undefined;
  const pair = map.items.find(({ key: node }) => isScalar(node) && node.value === key);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}
