import { fileProblem, printable } from "@lameduck/drain/common";
import { accessSync, constants, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { badOption, CliError } from "./errors.ts";
import { report } from "./failure.ts";

/** A line for the person who waits. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** A table as lines, each column as wide as its widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const cells = rows.map((row) => row.map(printable));
  const widths = rows[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]!.length))) ?? [];
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

/** Writes what an option asked for; `-` is stdout. */
export function writeOutput(option: string, file: string | undefined, text: () => string): void {
  if (file === undefined) return;
  if (file === "-") {
    process.stdout.write(text());
    return;
  }
  try {
    writeFileSync(file, text());
  } catch (error) {
    throw new CliError("LAMEDUCK_CANNOT_WRITE", `${option} ${file}`, fileProblem(error));
  }
}

/** Known before minutes of measuring, not after. */
export function mustBeWritable(option: string, file: string | undefined): void {
  if (file === undefined || file === "-") return;
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
  } catch (error) {
    throw new CliError("LAMEDUCK_CANNOT_WRITE", `${option} ${file}`, fileProblem(error));
  }
}

/** The files of options by their names. @throws CliError where one cannot be written, or two are stdout. */
export function checkFiles(files: Readonly<Record<string, string | undefined>>): void {
  for (const [name, file] of Object.entries(files)) mustBeWritable(`--${name}`, file);
  onlyOneToStdout(files);
}

/** @throws CliError where two of the options have `-`. */
export function onlyOneToStdout(files: Readonly<Record<string, string | undefined>>): void {
  const [, second] = Object.keys(files).filter((name) => files[name] === "-");
  if (second) throw badOption(`--${second}`, "only one output goes to stdout");
}

let isLost = false;

/** Says so once, and changes the exit code: what a script reads is cut off. The run goes on, because it may have to take things back. */
function loseOutput(error: Error): void {
  if (isLost) return;
  isLost = true;
  const code = report(new CliError("LAMEDUCK_CANNOT_WRITE", "stdout", fileProblem(error)));
  process.once("exit", () => (process.exitCode = code));
}

/**
 * Lets a run go on when whoever reads its output has gone. Ctrl-C ends the `tee` behind it too, and a hung-up terminal answers
 * EIO. What was changed on a cluster must be taken back all the same.
 */
export function surviveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO" && stream === process.stdout) loseOutput(error);
    });
}
