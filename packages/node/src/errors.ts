import { LameduckError } from "@lameduck/drain/common";

/** Every mistake in the use of this package. Mistakes in the decision's own options have codes of @lameduck/drain. */
export const nodeErrors = {
  LAMEDUCK_NOT_A_SERVER: "pass the result of http.createServer() or app.listen(), or fastify.server",
  LAMEDUCK_ATTACHED_TWICE: "call lameduck() once for each server",
  LAMEDUCK_TERMINATING: "attach servers, hooks and leases before the termination begins",
  LAMEDUCK_BAD_OPTION: "give the option or argument a value of the kind that is named",
  LAMEDUCK_MATCH_FAILED: "let the function return true or false for every request; an error counts as false",
  LAMEDUCK_BAD_HOOK:
    "give each hook a phase, a unique name and a function; its option after may name only hooks of the same phase",
} as const;

export type LameduckErrorCode = keyof typeof nodeErrors;

export function mistake(
  code: LameduckErrorCode,
  place: string,
  problem: string,
): LameduckError<LameduckErrorCode> {
  return new LameduckError(nodeErrors, code, place, problem);
}

export function badOption(place: string, problem: string): LameduckError<LameduckErrorCode> {
  return mistake("LAMEDUCK_BAD_OPTION", place, problem);
}

export { LameduckError };
