import { LameduckError } from "@lameduck/drain/common";

/** Every way a load or its senders can be asked for wrongly, or fail to start. The same codes stand in docs/errors.md. */
export const loadErrors = {
  LAMEDUCK_TARGET_NOT_LOCAL:
    "load goes only to loopback or to the stage's own addresses (198.18.0.0/15); give an endpoint there",
  LAMEDUCK_BAD_LOAD: "give a value in the range named",
  LAMEDUCK_BAD_SENDER: "give every sender a name of its own, a known kind and values in range",
  LAMEDUCK_SENDER_PROTOCOL:
    "give senders of the kinds l4, l4-cut, client or health-checked; proxies of the stage speak HTTP/1.1 only",
  LAMEDUCK_UNKNOWN_PROPAGATION: 'name a preset, a delay such as "3s", or a range such as "1s..10s"',
  LAMEDUCK_SENDER_BINARY_MISSING: "install it, or name another kind of sender",
  LAMEDUCK_SENDER_FAILED: "read the words it printed; a port or address it needs may be taken",
  LAMEDUCK_GENERATOR_DIED: "the machine may be out of memory; lower the rate or shorten the run",
} as const;

export type LoadErrorCode = keyof typeof loadErrors;

/** `code` is stable, `option` is the place, `remedy` says what to do. */
export class LoadError extends LameduckError<LoadErrorCode> {
  constructor(code: LoadErrorCode, place: string, problem: string) {
    super(loadErrors, code, place, problem);
  }
}
