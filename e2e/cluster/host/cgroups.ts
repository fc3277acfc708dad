import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "./until.ts";

const mountPoint = "/sys/fs/cgroup";
const top = "lameduck-e2e";

/** The kubelet's cgroupRoot of one node. */
export const nodeCgroup = (name: string): string => `/${top}/${name}`;

const isUnified = (): boolean => existsSync(join(mountPoint, "cgroup.controllers"));

/** One directory per v1 controller (and the v2 directory of a hybrid host), or the single one of v2. */
async function hierarchies(): Promise<string[]> {
  if (isUnified()) return [mountPoint];
  const names = await readdir(mountPoint, { withFileTypes: true });
  // Links such as cpuacct -> cpu,cpuacct name a hierarchy that is listed anyway.
  return names.filter((entry) => entry.isDirectory()).map((entry) => join(mountPoint, entry.name));
}

/** The kubelet wants its root to exist in every hierarchy, with the controllers usable there. */
export async function createNodeCgroup(name: string): Promise<void> {
  const unified = isUnified();
  for (const hierarchy of await hierarchies()) {
    if (unified) await delegateControllers(hierarchy);
    for (const directory of [join(hierarchy, top), join(hierarchy, top, name)]) {
      await mkdir(directory, { recursive: true });
      if (unified) await delegateControllers(directory);
      // A cpuset of v1 is born empty, and a process cannot be put into an empty one.
      else await inheritCpuset(directory);
    }
    await giveWeight(join(hierarchy, top));
  }
}

async function delegateControllers(directory: string): Promise<void> {
  const controllers = (await readFile(join(directory, "cgroup.controllers"), "utf8")).trim().split(" ");
  const wanted = controllers.filter((controller) => controller !== "").map((controller) => `+${controller}`);
  await writeFile(join(directory, "cgroup.subtree_control"), wanted.join(" "));
}

/** Five nodes of two processors: on a node all pods together weigh as much as one process for each processor. */
const weight = 5 * 2;

/**
 * A group counts as much as a single process beside it. Here all pods of all nodes are one group beside the daemons of five nodes. Without a weight
 * of their own, pods would starve whenever the daemons are busy, as on no real node.
 */
async function giveWeight(directory: string): Promise<void> {
  await writeIfThere(join(directory, "cpu.shares"), String(weight * 1024));
  await writeIfThere(join(directory, "cpu.weight"), String(weight * 100));
}

async function writeIfThere(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: "r+" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

async function inheritCpuset(directory: string): Promise<void> {
  for (const file of ["cpuset.cpus", "cpuset.mems"]) {
    try {
      const parent = await readFile(join(directory, "..", file), "utf8");
      await writeFile(join(directory, file), parent);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
}

/** Removes the cgroups of ended nodes, leaves first. */
export async function removeCgroups(): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeTree(join(hierarchy, top));
}

async function removeTree(directory: string): Promise<void> {
  let entries;
  try {
    entries = await readdir(directory, { withFileTypes: true });
  } catch {
    return;
  }
  for (const entry of entries) if (entry.isDirectory()) await removeTree(join(directory, entry.name));
  // A cgroup stays busy for a moment after its last process was reaped.
  await until(() => removed(directory), { what: `removal of ${directory}`, timeoutMs: 10_000, everyMs: 20 });
}

async function removed(directory: string): Promise<boolean> {
  try {
    await rmdir(directory);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}

export async function cgroupsLeft(): Promise<string[]> {
  return (await hierarchies()).map((hierarchy) => join(hierarchy, top)).filter((path) => existsSync(path));
}
