import { fileProblem } from "@lameduck/drain/common";
import { AuditError, type InputFile } from "@lameduck/audit";
import { closeSync, existsSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { count as counted } from "@lameduck/accounting/words";

const manifests = /\.(?:ya?ml|json)$/i;

export interface Read {
  readonly files: readonly InputFile[];
  /** What could not be read, while the rest could. */
  readonly failures: readonly AuditError[];
}

/**
 * Files as they are named; of folders all that end like manifests; `-` is stdin.
 * @param excluded files and folders that are left out of folders.
 */
export async function readInput(
  paths: readonly string[],
  command: "audit" | "inject" | "simulate -f",
  excluded: readonly string[] = [],
): Promise<Read> {
  const files: InputFile[] = [];
  const failures: AuditError[] = [];
  const fail = (place: string, error: unknown): void =>
    void failures.push(new AuditError("LAMEDUCK_AUDIT_UNREADABLE", place, fileProblem(error)));
  const seen = new Set<string>();
  const charts = new Map<string, number>();
  for (const path of new Set(paths)) {
    if (path === "-") {
      let piped: string;
      try {
        const chunks = new Chunks();
        for await (const chunk of process.stdin) chunks.add(chunk as Buffer);
        piped = decoded(chunks.whole());
      } catch (error) {
        fail("stdin", error);
        continue;
      }
      // Whatever should have written it has failed.
      if (piped.trim() === "") fail("stdin", new Error("is empty"));
      else files.push({ name: "stdin", text: piped });
      continue;
    }
    try {
      for (const name of manifestsAt(path, excluded, seen, fail))
        try {
          const text = decoded(bytesOf(name));
          const chart = name === path ? undefined : chartOf(name, text);
          if (chart === undefined) files.push({ name, text, isFound: name !== path });
          else charts.set(chart, (charts.get(chart) ?? 0) + 1);
        } catch (error) {
          fail(name, error);
        }
    } catch (error) {
      fail(path, error);
    }
  }
  for (const [chart, count] of charts)
    failures.push(
      new AuditError(
        "LAMEDUCK_AUDIT_CHART",
        chart,
        `${counted(count, "file")} of this Helm chart ${count === 1 ? "is a template that was" : "are templates that were"} not rendered`,
        { remedy: `render it: helm template ${chart} | lameduck ${command} -` },
      ),
    );
  return { files, failures };
}

/** The folder of the chart that a template stands in: one error for the chart says as much as one for each of its files. */
function chartOf(file: string, text: string): string | undefined {
  const [, folder] = /^(.*)[/\\]templates[/\\]/s.exec(file) ?? [];
  return folder !== undefined && text.includes("{{") && existsSync(join(folder, "Chart.yaml"))
    ? folder
    : undefined;
}

/** More than an audit has memory for. A device and a pipe may never end. */
const mostBytes = 256 * 2 ** 20;
const chunkBytes = 64 * 2 ** 10;

class Chunks {
  readonly #all: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    this.#all.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > mostBytes) throw new Error("holds more than 256 MiB; give it in parts");
  }

  whole(): Buffer {
    return Buffer.concat(this.#all);
  }
}

/** Of a file, or of a pipe, such as that of `<(helm template shop)`. */
function bytesOf(name: string): Buffer {
  const chunks = new Chunks();
  const file = openSync(name, "r");
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const count = readSync(file, chunk);
      if (count === 0) return chunks.whole();
      chunks.add(chunk.subarray(0, count));
    }
  } finally {
    closeSync(file);
  }
}

/** A fix writes the text back: what is no UTF-8 would not come back as it was. */
function decoded(bytes: Buffer): string {
  const [first = 0, second = 0] = bytes;
  if (first + second === 0xfe + 0xff && Math.min(first, second) === 0xfe)
    throw new Error("is UTF-16; save it as UTF-8");
  if (bytes.includes(0)) throw new Error("is no text: it holds a NUL byte");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error("is not UTF-8; save it as UTF-8");
  }
}

/** Links are followed, and each file and folder is read once, whatever leads there. @param fail is told of folders in it that cannot be read. */
function manifestsAt(
  path: string,
  excluded: readonly string[],
  seen: Set<string>,
  fail: (place: string, error: unknown) => void,
): string[] {
  if (!statSync(path).isDirectory()) return isNew(path, seen) ? [path] : [];
  const skipped = excluded.map((one) => resolve(one));
  const isSkipped = (file: string): boolean =>
    skipped.some((one) => file === one || file.startsWith(one + sep));
  const found: string[] = [];
  let hasAny = false;
  const walk = (folder: string): void => {
    if (!isNew(folder, seen)) return;
    for (const name of readdirSync(folder).sort()) {
      const file = join(folder, name);
      if (isSkipped(resolve(file)) || ["node_modules", ".git"].includes(name)) continue;
      try {
        const what = statSync(file, { throwIfNoEntry: false });
        if (what?.isDirectory() === true) walk(file);
        else if (what?.isFile() === true && manifests.test(name)) {
          hasAny = true;
          if (isNew(file, seen)) found.push(file);
        }
      } catch (error) {
        // A link that leads to itself is as good as none.
        if ((error as NodeJS.ErrnoException).code !== "ELOOP") fail(file, error);
      }
    }
  };
  const isKnown = seen.has(realpathSync(path));
  walk(path);
  if (!hasAny && !isKnown) throw new Error("holds no .yaml, .yml or .json file");
  return found.sort();
}

function isNew(path: string, seen: Set<string>): boolean {
  const real = realpathSync(path);
  if (seen.has(real)) return false;
  seen.add(real);
  return true;
}
