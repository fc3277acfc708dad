import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { isBelow, ownRootScript } from "./mounts.ts";
import { attempt, planRoot, type Obstacles } from "./root-plan.ts";
import { run } from "../network/run.ts";

/** A root of a container's own: this machine's files, with what the container writes kept in memory and thrown away. */
export interface OwnRoot {
  /** The folder of what `ownRootScript` reads. */
  readonly plan: string;
  /** What the kernel does not let us put a layer over: writes there are real. */
  readonly real: readonly string[];
}

/** In each round every directory that could not be had whole is taken apart by one level. */
const rounds = 8;

/** Prints what is mounted where not everything could be. */
const rehearsal = `
set -e
${ownRootScript}
own_root || { cut -d" " -f5 /proc/self/mountinfo; exit 1; }`;

/**
 * Finds out whether and how such a root can be had here, by making one.
 * @param shadow - an empty directory, over which each container mounts what only it sees.
 * @param locked - whether mounts below a directory keep it from being a layer, as they do in a user namespace (has_locked_children in
 * the kernel).
 * @returns why not, where it cannot.
 */
export async function findOwnRoot(
  scratch: string,
  shadow: string,
  { locked }: Pick<Obstacles, "locked">,
): Promise<OwnRoot | string> {
  const failed = new Set<string>();
  let reason = "";
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(scratch, "root-"));
    const { layers, real, mounts } = planRoot(folder, shadow, { locked, failed });
    if (layers === 0) return reason || "no directory of this machine can be a layer of an overlay";
    const { code, stdout, stderr } = await run("unshare", ["--mount", "--", "sh", "-c", rehearsal], {
      env: { ...process.env, LAMEDUCK_STAGE_SHADOW: shadow, LAMEDUCK_STAGE_ROOT: folder },
    });
    if (code === 0) return { plan: folder, real };
    reason = stderr.trim().split("\n")[0] ?? `it ended with ${code}`;
    const mounted = new Set(stdout.split("\n"));
    const missing = mounts.filter(({ target }) => !mounted.has(target));
    // What lies in a directory that failed had nowhere to be mounted.
    const first = missing.filter(({ path }) => !missing.some((other) => isBelow(path, other.path)));
    if (first.length === 0) return reason;
    for (const one of first) failed.add(attempt(one));
  }
  return reason;
}
