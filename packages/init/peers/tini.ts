/** tini's own tests: the inner ones as they are, and what its outer ones do with Docker, in process namespaces. */
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../toolchain/compile.ts";
import { commandOf, descendantsOf, eventually, Running } from "../test/running.ts";
import { environmentOf, isolation, runReaped, type Outcome, type Subject } from "./subject.ts";

export async function innerTestsOfTini(checkout: string, subject: Subject): Promise<Outcome> {
  const build = mkdtempSync(join(tmpdir(), "lameduck-peers-"));
  try {
    copyFileSync(join(subject.folder, "tini"), join(build, "tini"));
    compile("cc", ["-w"], [join(checkout, "test/sigconf/sigconf-test.c")], join(build, "sigconf-test"));
    const env = environmentOf(subject, {
      SOURCE_DIR: checkout,
      BUILD_DIR: build,
      FORCE_SUBREAPER: "1",
      PYTHONUNBUFFERED: "1",
    });
    const script = ["python3", join(checkout, "test/run_inner_tests.py")];
    const { code, stdout, stderr } = await runReaped(script, { cwd: checkout, env });
    const steps = stdout.split("\n").filter((line) => /^running /i.test(line)).length;
    return code === 0
      ? { text: `all ${steps} steps`, failed: [] }
      : { text: `stopped at step ${steps}`, failed: [stderr.split("\n").slice(-4).join("\n")] };
  } finally {
    rmSync(build, { recursive: true });
  }
}

interface OuterCase {
  readonly words: readonly string[];
  readonly code: number;
  /** Sent from outside, as `docker kill` does, once a descendant runs this command. */
  readonly signal?: NodeJS.Signals;
  /** Typed at a terminal, once that says "#". */
  readonly typed?: string;
}

function outerCases(checkout: string): OuterCase[] {
  const signals = join(checkout, "test/signals/test.py");
  const script = "while true; do echo \\#; sleep 0.1; done";
  return [
    { words: [join(checkout, "test/reaping/stage_1.py")], code: 0 },
    { words: [signals], code: 143, signal: "SIGTERM" },
    { words: [signals], code: 138, signal: "SIGUSR1" },
    { words: [signals], code: 140, signal: "SIGUSR2" },
    { words: ["-z"], code: 1 },
    { words: ["-h"], code: 0 },
    { words: ["zzzz"], code: 127 },
    // The script expects 0; tini 0.19 ends with 1, as it has no program to run.
    { words: ["-w"], code: 1 },
    { words: ["--", "dash"], code: 0, typed: "exit 0\n" },
    { words: ["--", "dash", "-c", script], code: 130, typed: "\x03" },
  ];
}

export async function outerTestsOfTini(checkout: string, subject: Subject): Promise<Outcome> {
  const cases = outerCases(checkout);
  const failed: string[] = [];
  for (const each of cases) {
    const code = await codeOf(each, subject);
    if (code !== each.code) failed.push(`tini ${each.words.join(" ")}: ${code}, not ${each.code}`);
  }
  return { text: `${cases.length - failed.length} of ${cases.length}`, failed };
}

async function codeOf(each: OuterCase, subject: Subject): Promise<number> {
  const command = [...isolation, join(subject.folder, "tini"), ...each.words];
  const env = environmentOf(subject, { TINI_VERBOSITY: "3", PS1: "# " });
  if (each.typed !== undefined) return codeAtTerminal(command, each.typed, env);
  const [first = "", ...rest] = command;
  const running = new Running(first, rest, { env });
  if (each.signal !== undefined) {
    await eventually(() => descendantsOf(running.pid).some((pid) => commandOf(pid) === "sleep"), "it runs");
    const [init = 0] = descendantsOf(running.pid);
    process.kill(init, each.signal);
  }
  return (await running.ended).code;
}

async function codeAtTerminal(
  command: readonly string[],
  typed: string,
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const quoted = command.map((word) => `'${word}'`).join(" ");
  const running = new Running("script", ["-qec", quoted, "/dev/null"], {
    stdio: ["pipe", "pipe", "pipe"],
    env,
  });
  let seen = "";
  const prompted = new Promise<void>((resolve) => {
    running.process.stdout?.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
      if (seen.includes("#")) resolve();
    });
  });
  await Promise.race([prompted, running.ended]);
  running.process.stdin?.write(typed);
  return (await running.ended).code;
}
