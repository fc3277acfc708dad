import { messageOf } from "@lameduck/drain/common";
import { badOption, nodeErrors } from "../errors.ts";

/** What is needed of a request to tell a probe. Headers are in lower case, as Node gives them. */
export interface ProbeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values in turn, where there are such: cheaper to look into, as Node makes `headers` only when they are asked for. */
  readonly rawHeaders?: readonly string[];
}

/**
 * A function of the application's that is asked about each request. It is asked also before SIGTERM, within the request's own event, so that
 * an error of it would be the request's: it counts as no, with one warning. So does an answer other than true, such as a promise.
 * @throws {LameduckError} for what is no function
 */
export function parseMatch(match: unknown, option: string): (request: ProbeRequest) => boolean {
  if (match === undefined) return () => false;
  if (typeof match !== "function") throw badOption(option, "is not a function");
  let warned = false;
  return (request) => {
    try {
      return match(request) === true;
    } catch (error) {
      if (!warned) warn(option, error);
      warned = true;
      return false;
    }
  };
}

function warn(option: string, error: unknown): void {
  const code = "LAMEDUCK_MATCH_FAILED";
  const problem = messageOf(error);
  process.emitWarning(`${option}: ${problem}; ${nodeErrors[code]}`, { type: "LameduckWarning", code });
}
