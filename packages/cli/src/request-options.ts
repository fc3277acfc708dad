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
  readonly answer?: string;
  readonly expectStatus?: readonly number[];
}

export const requestFlags = [
  "header",
  "method",
  "body",
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
    .option(
      "--body <text>",
      "body of every request, or @FILE with it; of a WebSocket the message, where {token} is different in each (default: {token} alone)",
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
  const { header, method, body, answer, expectStatus } = options;
  const headers = header?.flatMap((text) =>
    text.startsWith("@") ? linesOf("--header", text.slice(1)) : [text],
  );
  const bytes = body?.startsWith("@") ? contentOf("--body", body.slice(1)) : textBytes(body);
  return withoutUndefined({
    method,
    headers,
    body: bytes?.toString("base64"),
    answer,
    meantStatuses: expectStatus,
  });
}

function textBytes(text: string | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text);
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
