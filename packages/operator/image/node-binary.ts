import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { execFile } from "node:child_process";
import { ImageError, type Processor } from "./built.ts";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "..", "..", "..");

interface Locked {
  readonly version: string;
  readonly integrity: string;
}

/**
 * The Node of package-lock.json for a processor: npm installs only that of this machine, and the other is fetched with `npm pack` and held
 * against the lock.
 */
export async function nodeBinary(processor: Processor): Promise<{ path: string; version: string }> {
  const name = `node-linux-${processor}`;
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new ImageError(`package-lock.json has no ${name}`);
  const installed = join(root, "node_modules", name, "bin", "node");
  const path = existsSync(installed) ? installed : await fetched(name, locked);
  return { path, version: locked.version };
}

async function fetched(name: string, { version, integrity }: Locked): Promise<string> {
  const cache = process.env["LAMEDUCK_CACHE"] ?? join(homedir(), ".cache", "lameduck");
  const directory = join(cache, "node", `${name}-${version}`);
  const path = join(directory, "package", "bin", "node");
  if (existsSync(path)) return path;
  await mkdir(join(cache, "node"), { recursive: true });
  const workplace = await mkdtemp(`${directory}.`);
  try {
    const { stdout } = await execute("npm", ["pack", "--json", `${name}@${version}`], { cwd: workplace });
    const [{ filename } = { filename: "" }] = JSON.parse(stdout) as { filename: string }[];
    const archive = join(workplace, filename);
    const hash = createHash("sha512")
      .update(await readFile(archive))
      .digest("base64");
    if (`sha512-${hash}` !== integrity)
      throw new ImageError(`${name}@${version} is not the one of package-lock.json`);
    await execute("tar", ["-xzf", archive, "-C", workplace]);
    await rm(archive);
    await rename(workplace, directory).catch((error: unknown) => {
      if (!existsSync(path)) throw error;
    });
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
  return path;
}
