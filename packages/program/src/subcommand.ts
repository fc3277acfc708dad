import { destination, type Logger, pino } from "pino";
import type { LogLevel } from "./flag-values.ts";

/** One of the processes that the operator's file can be. */
export interface Subcommand {
  readonly helpText: string;
  /** The arguments after its name. @throws {OperatorError} for wrong flags. */
  run(args: readonly string[]): Promise<void>;
}

/** @param parse undefined where help is asked for. */
export function subcommand<Flags>(
  helpText: string,
  parse: (args: readonly string[]) => Flags | undefined,
  serve: (flags: Flags) => Promise<void>,
): Subcommand {
  return {
    helpText,
    async run(args) {
      const flags = parse(args);
      if (flags === undefined) process.stdout.write(helpText);
      else await serve(flags);
    },
  };
}

/** For our own library: a Service of any name sets variables like ours, so that nothing but this one is passed on. */
export function ownEnvironment(): { readonly KUBERNETES_SERVICE_HOST: string | undefined } {
  return { KUBERNETES_SERVICE_HOST: process.env["KUBERNETES_SERVICE_HOST"] };
}

/** JSON lines on stderr. Synchronous: what is written last must not be lost at the exit. */
export function processLog({
  logLevel,
  name,
}: {
  readonly logLevel: LogLevel;
  /** This replica. */
  readonly name: string;
}): Logger {
  return pino({ level: logLevel, base: { pod: name } }, destination({ dest: 2, sync: true }));
}
