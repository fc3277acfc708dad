import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunningComponent } from "./component.ts";
import type { ProcessIdentity } from "./host/processes.ts";
import type { Programs } from "./host/programs.ts";
import type { Sandbox } from "./host/sandbox.ts";
import type { Settings } from "./options.ts";

/** What another process needs to use or to end a running cluster. */
export interface ClusterState {
  readonly settings: Settings;
  /** The process that will bring it down, or undefined when it was started to stay. */
  readonly owner?: ProcessIdentity;
  /** False until everything is up: a record of a start that failed is never taken for a cluster. */
  readonly complete: boolean;
  readonly programs: Programs;
  readonly kubeconfig: string;
  readonly sandboxes: readonly Sandbox[];
  readonly components: readonly RunningComponent[];
}

const file = (directory: string): string => join(directory, "cluster.json");

export async function readState(directory: string): Promise<ClusterState | undefined> {
  try {
    return JSON.parse(await readFile(file(directory), "utf8")) as ClusterState;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Replaced whole: a reader sees the old record or the new one. */
export async function writeState(directory: string, state: ClusterState): Promise<void> {
  const unfinished = `${file(directory)}.${process.pid}`;
  await writeFile(unfinished, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file(directory));
}
