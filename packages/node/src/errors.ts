/** Every mistake in the use of this package. Mistakes in the decision's own options are DrainErrors of @lameduck/drain. */
export const nodeErrors = {
  LAMEDUCK_NOT_A_SERVER: "pass what http.createServer(), app.listen() or fastify.server give you",
  LAMEDUCK_ATTACHED_TWICE: "call lameduck() once for each server",
  LAMEDUCK_TERMINATING: "attach servers, hooks and leases before the termination begins",
  LAMEDUCK_BAD_OPTION: "give the option the kind of value named",
  LAMEDUCK_MATCH_FAILED: "let the function answer true or false for any request; an error counts as false",
  LAMEDUCK_BAD_HOOK: "name each hook once, and let it wait only for hooks of its own phase that exist",
} as const;

export type LameduckErrorCode = keyof typeof nodeErrors;

/** `code` is stable, `place` is the option or variable, `remedy` says what to do. */
export class LameduckError extends Error {
  readonly code: LameduckErrorCode;
  readonly place: string;
  readonly remedy: string;

  constructor(code: LameduckErrorCode, place: string, problem: string) {
    super(`${place}: ${problem}`);
    this.name = "LameduckError";
    this.code = code;
    this.place = place;
    this.remedy = nodeErrors[code];
  }
}
