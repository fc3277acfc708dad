import { fileProblem, printable } from "@lameduck/drain/common";
import { accessSync, constants, realpathSync, statSync, writeFileSync } from "node:fs";
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
type OutputFile = readonly [option: string, file: string | undefined];

/** Options that name files, as commander delivers them. */
type Files<Name extends string> = Readonly<Partial<Record<Name, string | undefined>>>;

export function outputFiles<Name extends string>(
  files: Files<Name>,
  ...names: readonly Name[]
): OutputFile[] {
  return names.map((name) => [name === "json" ? "--json" : "--out", files[name]]);
}

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
    if (file !== undefined && file !== "-") attempt(`${option} ${file}`, () => checkWritable(resolve(file)));
}

/** A file that is there says itself whether it can be written; its folder says so of one that is not. */
function checkWritable(path: string): void {
  const known = statSync(path, { throwIfNoEntry: false });
  if (known?.isDirectory()) throw new Error("is a folder");
  accessSync(known ? path : dirname(path), constants.W_OK);
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

/**
 * Writes the files, and shows the text unless one of them is stdout. One full disk is no reason to lose the other files.
 * @returns whether the text was shown.
 */
export function publish<Name extends string>(
  text: () => string,
  files: NoInfer<Files<Name>>,
  texts: Readonly<Record<Name, () => string>>,
): boolean {
  const outputs = outputFiles(files, ...(Object.keys(texts) as Name[]));
  const isShown = outputs.every(([, file]) => file !== "-");
  if (isShown) process.stdout.write(text());
  const failures: Error[] = [];
  for (const [index, make] of Object.values<() => string>(texts).entries())
    try {
      writeOutput(...outputs[index]!, make);
    } catch (error) {
      failures.push(error as Error);
    }
  const [first, ...others] = failures;
  for (const error of others) process.stderr.write(`error ${error.message}\n`);
  if (first) throw first;
  return isShown;
}

/** Writes what an option asked for; `-` is stdout. */
export function writeOutput(...[option, file, text]: readonly [...OutputFile, text: () => string]): void {
  if (file === "-") process.stdout.write(text());
  else if (file !== undefined) attempt(`${option} ${file}`, () => writeFileSync(file, text()));
}

/** @throws {CliError} LAMEDUCK_CANNOT_WRITE */
export function attempt(place: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    throw new CliError("LAMEDUCK_CANNOT_WRITE", place, fileProblem(error));
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
