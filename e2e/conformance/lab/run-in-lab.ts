import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "../../cluster/host/paths.ts";
import { compile } from "../../cluster/host/programs.ts";
import type { Observation } from "../recording.ts";

/** What the lab did with a scenario, in the words of a recording. */
export type LabRuns = Readonly<Record<string, readonly Observation[]>>;

/** Runs scenarios in the local stage, in namespaces of its own, all at the same time. */
export async function runInLab(scenarios: readonly string[]): Promise<LabRuns> {
  const recorder = await compile("recorder", cacheDirectory());
  const records = await mkdtemp(join(tmpdir(), "lameduck-records-"));
  try {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "stage.ts"), recorder, records, ...scenarios],
      // A test runner's own variable would make the child report to it.
      { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, NODE_TEST_CONTEXT: undefined } },
    );
    let output = "";
    for await (const chunk of child.stdout.setEncoding("utf8")) output += String(chunk);
    return JSON.parse(output) as LabRuns;
  } finally {
    await rm(records, { recursive: true, force: true });
  }
}
