/** Every mistake in the use of lameduck-init that the policies do not have. Those of the program stand in src/decision/errors.c as well. */
export const initErrors = {
  LAMEDUCK_BAD_SIGNAL: "name a signal as TERM, SIGTERM or 15, and a translation as TERM=USR1 or 15:10",
  LAMEDUCK_BAD_ADDRESS:
    "write an address or range as 10.1.2.3, 10.1.0.0/16, fd00::/8, or gateway; a port as 1 to 65535",
  LAMEDUCK_BAD_COORDINATOR:
    "write the coordinator as http://HOST:PORT, and give --pod-name, --pod-namespace and --pod-uid",
  LAMEDUCK_BAD_CHOICE: "choose one of the values that are named",
  LAMEDUCK_MISSING_COMMAND: "name the program to run: lameduck-init [options] -- PROGRAM [ARGUMENTS]",
  LAMEDUCK_INIT_NOT_BUILT:
    "install @lameduck/init again, or run `npm run build:init` in a clone of the repository",
} as const;

/** The binary is not there. */
export class MissingBinaryError extends Error {
  readonly code = "LAMEDUCK_INIT_NOT_BUILT";
  readonly remedy = initErrors.LAMEDUCK_INIT_NOT_BUILT;

  constructor(path: string) {
    super(`${path} does not exist`);
    this.name = "MissingBinaryError";
  }
}
