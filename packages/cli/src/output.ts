import { fileProblem, printable } from "@lameduck/drain/common";
import { accessSync, constants, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
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

/** An option and the file that it names; `-` is stdout. */
export type OutputFile = readonly [option: string, file: string | undefined];

/** What goes there. */
export type Output = readonly [...OutputFile, text: () => string];

/**
 * Known before minutes of measuring, not after.
 * @throws {CliError} LAMEDUCK_BAD_OPTION where two are stdout or the same file, LAMEDUCK_CANNOT_WRITE where one cannot be written
 */
export function checkOutputs(files: readonly OutputFile[]): void {
  const [, second] = files.filter(([, file]) => file === "-");
  if (second) throw badOption(second[0], "only one output goes to stdout");
  const writers = new Map<string, string>();
  for (const [option, file] of files) {
    if (file === undefined || file === "-") continue;
    const place = placeOf(file);
    const other = writers.get(place);
    if (other !== undefined) throw badOption(option, `${file} is written by ${other}, too`);
    writers.set(place, option);
  }
  for (const [option, file] of files)
    if (file !== undefined && file !== "-")
      attempt(option, file, () => accessSync(dirname(resolve(file)), constants.W_OK));
}

/** Where a file is, or will be, whatever links lead there. */
function placeOf(file: string): string {
  const path = resolve(file);
  for (const [known, rest] of [
    [path, ""],
    [dirname(path), basename(path)],
  ] as const)
    try {
      return join(realpathSync(known), rest);
    } catch {
      // The file does not exist yet. A missing folder is reported when the file is written.
    }
  return path;
}

/** Whether no machine output goes to stdout. */
export function isStdoutFree(files: readonly OutputFile[]): boolean {
  return files.every(([, file]) => file !== "-");
}

/** Shows the text, unless an output goes to stdout, and writes the outputs. One full disk is no reason to lose the other files. */
export function publish(text: () => string, outputs: readonly Output[]): void {
  if (outputs.every(([, file]) => file !== "-")) process.stdout.write(text());
  const failures: Error[] = [];
  for (const output of outputs)
    try {
      writeOutput(...output);
    } catch (error) {
      failures.push(error as Error);
    }
  const [first, ...others] = failures;
  for (const error of others) process.stderr.write(`error ${error.message}\n`);
  if (first) throw first;
}

/** Writes what an option asked for; `-` is stdout. */
export function writeOutput(...[option, file, text]: Output): void {
  if (file === "-") process.stdout.write(text());
  else if (file !== undefined) attempt(option, file, () => writeFileSync(file, text()));
}

function attempt(option: string, file: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new CliError("LAMEDUCK_CANNOT_WRITE", `${option} ${file}`, fileProblem(error));
  }
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
