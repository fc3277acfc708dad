import { LameduckError } from "@lameduck/drain/common";

/** Every mistake on the command line that is not another package's to find. The same codes stand in docs/errors.md. */
export const cliErrors = {
  LAMEDUCK_BAD_OPTION: "see the command's --help",
  LAMEDUCK_UNKNOWN_REMEDY: "see `lameduck lab --help` for the names",
  LAMEDUCK_RENAMED: "use the name that is named",
  LAMEDUCK_UNKNOWN_TOPIC: "see `lameduck --help` for the commands, and `lameduck help codes` for the codes",
  LAMEDUCK_OLD_NODE: "install the Node that is named, or a newer one",
  LAMEDUCK_TRACE_UNREADABLE: "name a file that exists and may be read",
  LAMEDUCK_OF_HELM: "use `helm upgrade` or `helm uninstall` for this release",
  LAMEDUCK_NOT_READY: "look at what is named; --timeout waits longer, and nothing is blocked meanwhile",
  LAMEDUCK_NO_REPORTS: "install the coordinator, which writes them: lameduck install --acknowledgements",
  LAMEDUCK_REPORTS_FORBIDDEN:
    "let somebody who may grant it: list drainreports.lameduck.dev in that namespace",
  LAMEDUCK_CANNOT_WRITE: "name a file in a folder that exists and may be written to",
} as const;

export type CliErrorCode = keyof typeof cliErrors;

/** `code` is stable, `place` is the option, `remedy` says what to do. */
export class CliError extends LameduckError<CliErrorCode> {
  constructor(code: CliErrorCode, place: string, problem: string) {
    super(cliErrors, code, place, problem);
  }
}
