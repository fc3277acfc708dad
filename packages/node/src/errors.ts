import { LameduckError } from "@lameduck/drain/common";

/** Every mistake in the use of this package. Mistakes in the decision's own options have codes of @lameduck/drain. */
export const nodeErrors = {
  LAMEDUCK_NOT_A_SERVER: "pass what http.createServer(), app.listen() or fastify.server give you",
  LAMEDUCK_ATTACHED_TWICE: "call lameduck() once for each server",
  LAMEDUCK_TERMINATING: "attach servers, hooks and leases before the termination begins",
  LAMEDUCK_BAD_OPTION: "give the option, or the argument, the kind of value named",
  LAMEDUCK_MATCH_FAILED: "let the function answer true or false for any request; an error counts as false",
  LAMEDUCK_BAD_HOOK:
    "give each hook a phase, a name of its own and a function, and let it wait only for hooks of its own phase that exist",
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
