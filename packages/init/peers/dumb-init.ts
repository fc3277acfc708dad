/** dumb-init's own tests: those of pytest, and the one that wants to be run by PID 1. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packageRoot } from "../toolchain/compile.ts";
import { Running } from "../test/running.ts";
import { environmentOf, isolation, runReaped, type Outcome, type Subject } from "./subject.ts";

interface Counts {
  readonly passed: number;
  readonly words: number;
  readonly failed: readonly string[];
}

export async function pytestOfDumbInit(checkout: string, subject: Subject): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-peers-"));
  try {
    const result = join(folder, "result.json");
    const env = environmentOf(subject, {
      PYTHONPATH: join(packageRoot, "peers"),
      LAMEDUCK_PEERS_RESULT: result,
    });
    const pytest = "python3 -m pytest -q -p wording -p no:cacheprovider tests".split(" ");
    const { stdout, stderr } = await runReaped(pytest, { cwd: checkout, env });
    if (!existsSync(result)) throw new Error(`pytest did not run:\n${stdout}\n${stderr}`);
    const { passed, words, failed } = JSON.parse(readFileSync(result, "utf8")) as Counts;
    const total = passed + words + failed.length;
    const aside = words > 0 ? `, ${words} of them in words of its own` : "";
    return { text: `${passed + words} of ${total}${aside}`, failed };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function zombiesOfDumbInit(checkout: string, subject: Subject): Promise<Outcome> {
  const [command, ...rest] = [...isolation, join(subject.folder, "dumb-init"), "tests/test-zombies"];
  const { code, stderr } = await new Running(command, rest, { cwd: checkout, env: environmentOf(subject) })
    .ended;
  return code === 0
    ? { text: "1 of 1", failed: [] }
    : { text: "0 of 1", failed: [`test-zombies: ${stderr}`] };
}
