import { shown } from "@lameduck/drain/common";

/** Characters of a stranger's text in a message. */
const longest = 100;

/** A value in a message, in one line, of a length that a message may have. */
export function briefly(value: unknown): string {
  return shown(typeof value === "string" ? cut(value) : value);
}

export function cut(text: string, most = longest): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
