import { errorClass } from "@lameduck/drain/common";

/** Every way a load or its senders can be asked for wrongly, or fail to start. The same codes stand in docs/reference/errors.md. */
export const loadErrors = {
  LAMEDUCK_TARGET_NOT_LOCAL:
    "give an endpoint on loopback or in 198.18.0.0/15: the lab sends load nowhere else",
  LAMEDUCK_BAD_LOAD: "give a value in the range that is named",
  LAMEDUCK_BAD_SENDER: "give every sender a unique name, a known kind and values in their ranges",
  LAMEDUCK_SENDER_PROTOCOL:
    "use senders of the kinds l4, l4-cut, client or health-checked: the proxies of the lab speak HTTP/1.1 only",
  LAMEDUCK_UNKNOWN_PROPAGATION: 'name a preset, a delay such as "3s", or a range such as "1s..10s"',
  LAMEDUCK_SENDER_BINARY_MISSING: "install that program, or use another kind of sender",
  LAMEDUCK_SENDER_FAILED:
    "see its own message, which is quoted; a port or address that it needs may be in use",
  LAMEDUCK_NEVER_WORKED:
    "check path, method, headers and body; --expect-status names an answer that is meant",
  LAMEDUCK_GENERATOR_DIED: "lower the rate or shorten the run: the machine may be out of memory",
} as const;

export type LoadErrorCode = keyof typeof loadErrors;

/** `code` is stable, `option` is the place, `remedy` says what to do. */
export class LoadError extends errorClass(loadErrors) {}

export function badLoad(option: string, problem: string): LoadError {
  return new LoadError("LAMEDUCK_BAD_LOAD", option, problem);
}
