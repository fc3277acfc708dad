import { plainCommand, type Scripts } from "./shell/commands.ts";
import type { Variables } from "./shell/scope.ts";

/** Something between the kubelet's signal and the program that serves. */
export interface PidOne {
  readonly what: string;
  readonly because: string;
  /** `certain`: in every shell. `likely`: in some of those that images have. `unknown`: what nobody here can know. */
  readonly certainty: "certain" | "likely" | "unknown";
  /** What to write instead, where that is plain. */
  readonly instead?: string;
  /** It gets the signal, and ends before the server, which is killed with it. */
  readonly endsFirst?: boolean;
  /** The program that signals only this. */
  readonly behind?: string;
}

/** What it may do to the server. */
export const harmOf = ({ endsFirst }: PidOne): string =>
  endsFirst === true ? "it may end before the server" : "SIGTERM may never come to the server";

/** The program that serves, as far as a command line tells. */
export interface Served {
  /** Empty where it cannot be known. */
  readonly argv: readonly string[];
  /** Undefined where the signal reaches it. */
  readonly pidOne?: PidOne;
}

/** Where a command line runs. */
export interface Surroundings {
  readonly image?: string | undefined;
  readonly variables?: Variables;
  readonly scripts?: Scripts;
  /** PID 1 is the pause process. */
  readonly isPidShared?: boolean;
}

/** What to write instead of a shell around one plain command. */
export function withoutShell(script: string): string {
  const words = plainCommand(script);
  return words?.every((word) => /^[\w./=-]+$/.test(word))
    ? `[${words.join(", ")}]`
    : "exec before the last command";
}
