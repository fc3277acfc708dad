import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Programs } from "../host/programs.ts";
import { attempt, run } from "../host/run.ts";
import { closeSandbox, furnishNode, inside, openSandbox, type Sandbox } from "../host/sandbox.ts";
import { until } from "../host/until.ts";
import { start } from "../component.ts";
import { fingerprint, writeImage, type Image } from "./image.ts";

/**
 * A containerd root with every image imported and unpacked once, kept in the cache. Nodes get it by hard links: five nodes start without
 * importing anything, and the pages of the Node binary are in memory once for all of them.
 */
export async function prepareStore(
  images: readonly Image[],
  programs: Programs,
  cache: string,
  say: (line: string) => void,
): Promise<string> {
  const prints = await Promise.all(images.map(fingerprint));
  const key = createHash("sha256")
    .update(prints.join("\n"))
    .update(programs.runtime)
    .update(pinned)
    .digest("hex")
    .slice(0, 16);
  const store = join(cache, "images", `store-${key}`);
  if (existsSync(store)) return store;
  say(`building ${images.length} images (${images.map((image) => image.reference).join(", ")})`);
  const workplace = `${store}.${process.pid}`;
  await mkdir(workplace, { recursive: true });
  try {
    await fill(workplace, images, programs);
    await rename(join(workplace, "root", "var", "lib", "containerd"), store).catch((error: unknown) => {
      if (!existsSync(store)) throw error;
    });
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
  await removeOlder(join(cache, "images"));
  return store;
}

/** A changed sample makes a new store of some hundred megabytes; the two latest are enough. Running nodes keep their links. */
async function removeOlder(directory: string): Promise<void> {
  const names = (await readdir(directory)).filter((name) => /^store-[0-9a-f]+$/.test(name));
  const dated = await Promise.all(
    names.map(async (name) => ({
      path: join(directory, name),
      made: (await stat(join(directory, name))).ctimeMs,
    })),
  );
  const old = dated.sort((a, b) => b.made - a.made).slice(2);
  for (const { path } of old) await rm(path, { recursive: true, force: true });
}

async function fill(workplace: string, images: readonly Image[], programs: Programs): Promise<void> {
  const sandbox = await openSandbox("images", programs.pause, workplace);
  try {
    await furnishNode(sandbox, join(workplace, "root"));
    const containerd = await start(
      {
        name: "containerd",
        sandbox: sandbox.name,
        program: join(programs.runtime, "containerd"),
        args: [],
        log: join(workplace, "containerd.log"),
      },
      sandbox,
    );
    await waitForContainerd(sandbox, programs, containerd.plan.log);
    for (const [index, image] of images.entries()) {
      const archive = join(workplace, `image${index}.tar`);
      await writeImage(image, archive);
      await importImage(sandbox, programs, archive);
      await rm(archive);
    }
    // Ended in order, so that its databases are closed.
    process.kill(containerd.process.pid, "SIGTERM");
    const end = (): Promise<boolean> => Promise.resolve(!existsSync(`/proc/${containerd.process.pid}`));
    await until(end, { what: "end of containerd" });
  } finally {
    await closeSandbox(sandbox);
  }
}

export async function waitForContainerd(sandbox: Sandbox, programs: Programs, logs: string): Promise<void> {
  await until(
    async () => {
      await inside(sandbox, [join(programs.runtime, "ctr"), "version"]);
      return true;
    },
    { what: `containerd of ${sandbox.name}`, timeoutMs: 30_000, logs },
  );
}

/** A kubelet that is short of disk deletes unused images; here is no registry to pull them from again. */
const pinned = "io.cri-containerd.pinned=pinned";

/** Adds an image to a running node. */
export async function importImage(sandbox: Sandbox, programs: Programs, archive: string): Promise<void> {
  const ctr = [join(programs.runtime, "ctr"), "-n", "k8s.io"];
  await inside(sandbox, [...ctr, "images", "import", "--label", pinned, archive]);
}

/** Gives a node (its private root directory) the store: files by hard link where the file system allows, databases copied. */
export async function giveStore(store: string, nodeRoot: string): Promise<void> {
  const target = join(nodeRoot, "var", "lib", "containerd");
  await mkdir(join(nodeRoot, "var", "lib"), { recursive: true });
  const linked = await attempt("cp", ["-a", "--link", store, target]);
  if (linked.status !== 0) {
    await rm(target, { recursive: true, force: true });
    await run("cp", ["-a", store, target]);
    return;
  }
  const databases = (await run("find", [store, "-name", "*.db"])).trim().split("\n");
  for (const database of databases)
    await run("cp", ["-a", "--remove-destination", database, join(target, database.slice(store.length))]);
}
