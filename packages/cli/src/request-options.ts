import { readFileSync } from "node:fs";
import { InvalidArgumentError, type Command } from "commander";
import { fileProblem, withoutUndefined } from "@lameduck/drain/common";
import type { Route } from "@lameduck/load";
import { badOption } from "./errors.ts";
import { collect } from "./options.ts";

/** What every request of a load says beside its path: the same options for `lab` and `rollout`. */
export interface RequestFlags {
  readonly header?: readonly string[];
  readonly method?: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly message?: string;
  readonly answer?: string;
  readonly expectStatus?: readonly number[];
}

export const requestFlags = [
  "header",
  "method",
  "body",
  "bodyFile",
  "message",
  "answer",
  "expectStatus",
] as const satisfies readonly (keyof RequestFlags)[];

export function addRequestOptions(command: Command): Command {
  return command
    .option(
      "-H, --header <'name: value'>",
      "header of every request, or @FILE with one header per line; may be repeated",
      collect,
    )
    .option("--method <name>", "method of every request (default: GET; POST with a body)")
    .option("--body <text>", "body of every request")
    .option("--body-file <file>", "file with the body of every request")
    .option(
      "--message <text>",
      "message of a WebSocket; {token} is different in each (default: {token} alone)",
    )
    .option(
      "--answer <text>",
      "text of the message that answers on a WebSocket (default: the message's token)",
    )
    .option(
      "--expect-status <list>",
      "statuses from 400 on that are no failure, with commas between, such as 401,404",
      statuses,
    );
}

/** @throws coded errors that name the option. */
export function requestOf(options: RequestFlags): NonNullable<Route["request"]> {
  const { header, method, body, bodyFile, message, answer, expectStatus } = options;
  if (body !== undefined && bodyFile !== undefined)
    throw badOption("--body-file", "cannot be given with --body");
  const headers = header?.flatMap((text) =>
    text.startsWith("@") ? linesOf("--header", text.slice(1)) : [text],
  );
  const bytes =
    bodyFile === undefined
      ? body === undefined
        ? undefined
        : Buffer.from(body)
      : contentOf("--body-file", bodyFile);
  return withoutUndefined({
    method: method ?? (bytes === undefined ? undefined : "POST"),
    headers,
    body: bytes?.toString("base64"),
    message,
    answer,
    meantStatuses: expectStatus,
  });
}

function statuses(text: string): readonly number[] {
  const numbers = text.split(",").map((part) => Number(part.trim() || Number.NaN));
  if (!numbers.every((one) => Number.isInteger(one) && one >= 0 && one <= 999))
    throw new InvalidArgumentError("It must be statuses with commas between, such as 401,404.");
  return numbers;
}

/** What is secret stands in a file better than in a list of processes. */
function linesOf(option: string, file: string): string[] {
  return contentOf(option, file)
    .toString("utf8")
    .split(/\r?\n/)
    .filter((line) => line !== "");
}

export function contentOf(option: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw badOption(`${option} ${file}`, fileProblem(error));
  }
}
