/** A mistake is told in the same words by the command line, by the init and by the library's entry without code. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { initBinary } from "@lameduck/init";
import { run } from "./running.ts";

const register = import.meta.resolve("@lameduck/node/register");
const init = builtInit();
const skip = init === undefined && "the init has not been built";

function builtInit(): string | undefined {
  try {
    return initBinary();
  } catch {
    return undefined;
  }
}

interface Told {
  readonly code: number | null;
  readonly line: string;
}

function tell(file: string, args: readonly string[], environment: Record<string, string> = {}): Told {
  const kept = Object.entries(process.env).filter(([name]) => !/^(LAMEDUCK|NODE|KUBERNETES)_/.test(name));
  const env = { ...Object.fromEntries(kept), ...environment };
  const { status, stderr } = spawnSync(file, args, { env, encoding: "utf8" });
  return { code: status, line: stderr };
}

for (const [name, value] of [
  ["LAMEDUCK_CAP", "20"],
  ["LAMEDUCK_LOSS_BUDGET", "few"],
  ["LAMEDUCK_CAP", "29s"],
  ["LAMEDUCK_POLICY", "fixed"],
] as const)
  test(`${name}=${value}: the library's entry and the init say the same, and exit with 2`, { skip }, () => {
    const library = tell(process.execPath, ["--import", register, "-e", "0"], { [name]: value });
    const binary = tell(init!, ["true"], { [name]: value });
    assert.deepEqual([library.code, binary.code], [2, 2]);
    // What is missing is added to the environment of the one, and to the flags of the other.
    const words = library.line
      .replace(/^lameduck: /, "")
      .replace(": LAMEDUCK_DELAY:", ": --delay:")
      .trim();
    assert.match(words, /^LAMEDUCK_[A-Z_]+: .+: .+; [^\n]+$/);
    assert.ok(binary.line.includes(words), `${binary.line} instead of ${words}`);
  });

test("a misspelt variable: the library's entry and the init say the same, and run on", { skip }, () => {
  const environment = {
    LAMEDUCK_GRACE_PERIDO: "30s",
    LAMEDUCK_PORT: "tcp://10.96.0.7:80",
    LAMEDUCK_PEERS: "3",
  };
  const server = "require('http').createServer().listen(0, () => setTimeout(() => process.exit(0), 100))";
  const library = tell(process.execPath, ["--import", register, "-e", server], environment);
  const binary = tell(init!, ["true"], environment);
  assert.deepEqual([library.code, binary.code], [0, 0]);
  const words = "LAMEDUCK_GRACE_PERIDO is unknown; did you mean LAMEDUCK_GRACE_PERIOD?";
  for (const { line } of [library, binary]) {
    assert.ok(line.includes(words), line);
    assert.equal(line.trim().split("\n").length, 1, line);
  }
});

test(
  "a flag without a unit: the command line and the init say the same, and exit with 2",
  { skip },
  async () => {
    const command = await run(["lab", "--grace", "20"]);
    const binary = tell(init!, ["--grace", "20", "true"]);
    assert.deepEqual([command.code, binary.code], [2, 2]);
    for (const line of [command.err, binary.line])
      for (const words of [
        '--grace: "20" has no unit: write "20s" for 20 seconds or "20ms" for 20 milliseconds',
        'write a duration with its unit, such as "300ms", "5s", "2m" or "1h"',
        "LAMEDUCK_BAD_DURATION",
      ])
        assert.ok(line.includes(words), line);
  },
);

test("variables of the library are no misspelt ones of the init", { skip }, () => {
  const environment = {
    LAMEDUCK_SIGNALS: "SIGTERM",
    LAMEDUCK_PROBES: "/healthz",
    LAMEDUCK_CRASHES: "close",
  };
  assert.deepEqual(tell(init!, ["true"], environment), { code: 0, line: "" });
});
