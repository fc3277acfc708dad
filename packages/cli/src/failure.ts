import { styleText } from "node:util";
import { withAddresses } from "./about.ts";
import { exitCodeOfError, exitCodes } from "./exit-codes.ts";

/** What every package throws for a mistake of its user: a stable code, a sentence with the place, and what to do. */
interface CodedError extends Error {
  readonly code: string;
  readonly remedy?: string;
}

function isCoded(error: unknown): error is CodedError {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    error.code.startsWith("LAMEDUCK_")
  );
}

/** Says what went wrong on stderr, in one line with the place and the remedy, and returns the exit code. */
export function report(error: unknown, stream: NodeJS.WriteStream = process.stderr): number {
  const red = (text: string): string => styleText("red", text, { stream });
  if (isCoded(error)) {
    const remedy = error.remedy ? `; ${error.remedy}` : "";
    stream.write(withAddresses(`${red("error")} ${error.message} [${error.code}]${remedy}\n`));
    return exitCodeOfError(error.code);
  }
  const detail =
    error instanceof Error ? (process.env["LAMEDUCK_DEBUG"] ? error.stack : error.message) : String(error);
  stream.write(
    `${red("internal error")} ${detail}\n  This is a defect of Lameduck. LAMEDUCK_DEBUG=1 shows where.\n`,
  );
  return exitCodes.internal;
}
