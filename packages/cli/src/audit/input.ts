import { messageOf } from "@lameduck/drain/common";
import { AuditError, type InputFile } from "@lameduck/audit";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { text } from "node:stream/consumers";
import { join, resolve, sep } from "node:path";

const manifests = /\.(?:ya?ml|json)$/i;

export interface Read {
  readonly files: readonly InputFile[];
  /** What could not be read, while the rest could. */
  readonly failures: readonly AuditError[];
}

/** Files as they are named; of folders all that end like manifests; `-` is stdin. */
/** @param excluded files and folders that are left out of folders. */
export async function readInput(paths: readonly string[], excluded: readonly string[] = []): Promise<Read> {
  const files: InputFile[] = [];
  const failures: AuditError[] = [];
  const fail = (place: string, error: unknown): void =>
    void failures.push(new AuditError("LAMEDUCK_AUDIT_UNREADABLE", place, messageOf(error)));
  for (const path of new Set(paths)) {
    if (path === "-") {
      files.push({ name: "stdin", text: await text(process.stdin) });
      continue;
    }
    try {
      for (const name of manifestsAt(path, excluded))
        try {
          files.push({ name, text: readFileSync(name, "utf8"), isFound: name !== path });
        } catch (error) {
          fail(name, error);
        }
    } catch (error) {
      fail(path, error);
    }
  }
  return { files, failures };
}

function manifestsAt(path: string, excluded: readonly string[]): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const skipped = excluded.map((one) => resolve(one));
  const isSkipped = (file: string): boolean =>
    skipped.some((one) => file === one || file.startsWith(one + sep)) ||
    /[/\\](?:node_modules|\.git)[/\\]/.test(file);
  const found = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && manifests.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !isSkipped(resolve(file)))
    .sort();
  if (found.length === 0) throw new Error("holds no .yaml, .yml or .json file");
  return found;
}
