import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ImageError } from "./built.ts";

const execute = promisify(execFile);

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** The source package that it is built from: what advisories name. */
  readonly source: string;
}

interface Fetched extends DebianPackage {
  /** Its paths, from the root on. */
  readonly files: readonly string[];
}

const folder = "debian-packages";
/** Beside the unpacked files: which package has brought them. */
const listName = "packages.json";

/** What apt keeps about the packages of another processor, beside the machine's own. */
const folders = ["state/lists/partial", "cache/archives/partial", "root"] as const;

/**
 * Debian's packages for a processor that is not this machine's, unpacked into a directory and kept. apt fetches and checks them as it does for the
 * machine itself, whose packages and lists stay as they are.
 */
export async function debianPackages(
  architecture: "arm64" | "amd64",
  packages: readonly string[],
): Promise<string> {
  const cache = cacheOf();
  const directory = join(cache, folder, architecture);
  if (existsSync(directory)) return directory;
  await mkdir(join(cache, folder), { recursive: true });
  const workplace = await mkdtemp(`${directory}.`);
  try {
    for (const one of folders) await mkdir(join(workplace, one), { recursive: true });
    const settings = [
      `APT::Architecture=${architecture}`,
      `APT::Architectures=${architecture}`,
      `Dir::State=${workplace}/state`,
      `Dir::State::status=/dev/null`,
      `Dir::Cache=${workplace}/cache`,
      // The user that apt fetches as may not write into our directory.
      "APT::Sandbox::User=root",
    ].flatMap((setting) => ["-o", setting]);
    await execute("apt-get", [...settings, "-qq", "update"], { cwd: workplace });
    await execute("apt-get", [...settings, "-qq", "download", ...packages], { cwd: workplace });
    const all: Fetched[] = [];
    for (const file of (await readdir(workplace)).sort())
      if (file.endsWith(".deb")) all.push(await unpack(join(workplace, file), join(workplace, "root")));
    await writeFile(join(workplace, "root", listName), JSON.stringify(all));
    await rename(join(workplace, "root"), directory);
  } catch (error) {
    throw new ImageError(`packages of Debian for ${architecture} cannot be fetched: ${String(error)}`);
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
  return directory;
}

async function unpack(file: string, root: string): Promise<Fetched> {
  const { stdout } = await execute("dpkg-deb", ["--vextract", file, root], { maxBuffer: 1 << 26 });
  const format = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}";
  const described = await execute("dpkg-deb", ["--show", `--showformat=${format}`, file]);
  const [name = "", version = "", architecture = "", source = ""] = described.stdout.split("\t");
  const files = stdout
    .split("\n")
    .filter((path) => path !== "" && !path.endsWith("/"))
    .map((path) => path.replace(/^\./, "").replace(/ -> .*$/, ""));
  return { name, version, architecture, source, files };
}

/** The packages that a file was fetched with; none of a file of the machine itself. */
export function fetchedList(
  file: string,
): { readonly root: string; readonly packages: readonly Fetched[] } | undefined {
  const cache = join(cacheOf(), folder);
  if (!file.startsWith(`${cache}/`)) return undefined;
  const root = join(cache, file.slice(cache.length + 1).split("/")[0] ?? "");
  const packages = JSON.parse(readFileSync(join(root, listName), "utf8")) as Fetched[];
  return { root, packages };
}

function cacheOf(): string {
  return process.env["LAMEDUCK_CACHE"] ?? join(homedir(), ".cache", "lameduck");
}
