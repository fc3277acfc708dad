import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ImageError } from "./built.ts";

const execute = promisify(execFile);

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
  const cache = process.env["LAMEDUCK_CACHE"] ?? join(homedir(), ".cache", "lameduck");
  const directory = join(cache, "debian", architecture);
  if (existsSync(directory)) return directory;
  await mkdir(join(cache, "debian"), { recursive: true });
  const workplace = await mkdtemp(`${directory}.`);
  try {
    for (const folder of folders) await mkdir(join(workplace, folder), { recursive: true });
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
    for (const file of await readdir(workplace))
      if (file.endsWith(".deb"))
        await execute("dpkg-deb", ["-x", join(workplace, file), join(workplace, "root")]);
    await rename(join(workplace, "root"), directory);
  } catch (error) {
    throw new ImageError(`packages of Debian for ${architecture} cannot be fetched: ${String(error)}`);
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
  return directory;
}
