import { isNodeTestLoaded } from "../internals.ts";

/** The programs that run tests, by where their packages are. Variables tell nothing: a server that a test has started inherits them. */
const runners =
  /[\\/]node_modules[\\/](?:\.bin[\\/])?(?:@jest|@tapjs|@vitest|ava|jasmine|jest|jest-\w+|mocha|tap|tinypool|uvu|vitest)(?:[\\/]|$)/;
/** Global names that tests find. */
const globals = ["__vitest_worker__", "UVU_QUEUE"];

/**
 * Whether a test runner runs this very process. It would take an exit with 0 for a success, and leave out what it had still to run.
 */
export function isTestRun(): boolean {
  const { describe, it } = globalThis as Record<string, unknown>;
  return (
    (typeof describe === "function" && typeof it === "function") ||
    globals.some((name) => name in globalThis) ||
    Object.getOwnPropertySymbols(globalThis).some(({ description }) => description?.startsWith("@tapjs/")) ||
    runners.test(process.argv[1] ?? "") ||
    isNodeTestLoaded()
  );
}
