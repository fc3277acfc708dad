import { readFileSync } from "node:fs";
import { fileProblem } from "@lameduck/drain/common";

/**
 * The text of a file; `-` is stdin. It is read as a stream, since a pipe whose writer is slow answers EAGAIN to a read of all.
 * @throws what the system says.
 */
export async function textOf(file: string): Promise<string> {
  if (file !== "-") return withoutMark(readFileSync(file, "utf8"));
  const { text } = await import("node:stream/consumers");
  return withoutMark(await text(process.stdin));
}

/** Editors and shells of Windows write a byte order mark before the first line. */
function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** The text of a file. @throws what `refusal` makes of the system's problem. */
export function fileText(file: string, refusal: (problem: string) => Error): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw refusal(fileProblem(error));
  }
}
