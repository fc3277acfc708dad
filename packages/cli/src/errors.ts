import { errorClass } from "@lameduck/drain/common";
import { howToBuildImage } from "./about.ts";

/** Every mistake on the command line that is not another package's to find. The same codes stand in docs/reference/errors.md. */
export const cliErrors = {
  LAMEDUCK_BAD_OPTION: "see the command's --help",
  LAMEDUCK_UNKNOWN_REMEDY: "see `lameduck lab --help` for the names",
  LAMEDUCK_UNKNOWN_TOPIC: "see `lameduck --help` for the commands, and `lameduck help codes` for the codes",
  LAMEDUCK_OLD_NODE: "install it, or put it into the app: `npm install --save-dev node@24`",
  LAMEDUCK_TRACE_UNREADABLE: "name a file that exists and may be read",
  LAMEDUCK_OF_HELM: "use `helm upgrade` or `helm uninstall` for this release",
  LAMEDUCK_NO_IMAGE: `${howToBuildImage}; docs/operate/install.md`,
  LAMEDUCK_NOT_READY:
    "see what the message names; --timeout waits longer; until then pods start without the hold",
  LAMEDUCK_NO_REPORTS: "install the coordinator, which writes them: lameduck install --acknowledgements",
  LAMEDUCK_REPORTS_FORBIDDEN:
    "ask an administrator for the right to list drainreports.lameduck.dev in that namespace",
  LAMEDUCK_BAD_RESULTS: "name a file that lab --json or rollout --json has written",
  LAMEDUCK_NOT_TERMINATING: "delete it first: `kubectl delete pod NAME --wait=false`",
  LAMEDUCK_CANNOT_WRITE: "name a file in a folder that exists and that you may write to",
} as const;

export type CliErrorCode = keyof typeof cliErrors;

/** `code` is stable, `place` is the option, `remedy` says what to do. */
export class CliError extends errorClass(cliErrors) {}

/** A mistake on the command line. */
export function badOption(place: string, problem: string): CliError {
  return new CliError("LAMEDUCK_BAD_OPTION", place, problem);
}
