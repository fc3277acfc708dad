import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Command } from "commander";
import { commandsFor, takenBy } from "../src/commands.ts";
import { main } from "../src/main.ts";
import { addSharedOptions } from "../src/shared.ts";
import { explain } from "../src/explain/command.ts";
import { initBinaryCommand } from "../src/init-binary.ts";
import { installCommand } from "../src/install/install.ts";
import { statusCommand } from "../src/status/command.ts";
import { uninstallCommand } from "../src/install/uninstall.ts";
import { labCommand } from "../src/lab/command.ts";
import { rolloutCommand } from "../src/rollout/command.ts";
import { simulate } from "../src/simulate/command.ts";

/** Kinds of values, each with what is none. "" is what a script makes of a variable that it forgot to set. */
const wrong = {
  duration: ["20", "1.5", "-5s", "", "5 parsecs", "5s5s", "9000h"],
  number: ["", "-1", "many", "5s"],
  whole: ["", "-1", "many", "5s", "1.5"],
  name: ["", "nonsense"],
  text: [],
} as const;

/** Of `lab` and `rollout` alike. */
const request = {
  header: "name",
  method: "name",
  body: "text",
  answer: "text",
  "expect-status": "name",
} as const;

/** Every flag that takes a value. The text of a file, a path or somebody else's name may be anything. */
const flags: Record<string, Record<string, keyof typeof wrong>> = {
  lab: {
    ...request,
    file: "text",
    image: "text",
    remedies: "name",
    replicas: "whole",
    rollouts: "whole",
    rps: "number",
    pooled: "number",
    path: "text",
    protocol: "name",
    senders: "name",
    env: "name",
    allow: "name",
    propagation: "duration",
    port: "whole",
    grace: "duration",
    "warm-up": "duration",
    network: "name",
  },
  rollout: {
    ...request,
    "ca-file": "text",
    scale: "whole",
    drain: "text",
    pods: "whole",
    url: "name",
    protocol: "name",
    rps: "number",
    pooled: "number",
    "requests-max": "whole",
    "in-cluster": "whole",
    image: "text",
    requests: "text",
    "warm-up": "duration",
    settle: "duration",
    timeout: "duration",
  },
  simulate: {
    senders: "name",
    replicas: "whole",
    rps: "number",
    terminations: "whole",
    file: "text",
    recording: "text",
  },
  explain: {},
  install: {
    "consumer-account": "name",
    "metrics-from": "text",
    "node-reader": "text",
    disable: "name",
    enable: "text",
    image: "text",
    timeout: "duration",
  },
  status: {},
  uninstall: {},
  "init-binary": { arch: "name" },
  // Of all commands.
  why: {
    namespace: "text",
    context: "text",
    kubeconfig: "text",
    as: "text",
    json: "text",
  },
  check: { "lameduck-namespace": "text", enable: "text" },
};

/** What has to stand on the command line besides. */
const rest: Record<string, string[]> = { rollout: ["deployment/web", "--watch"], why: ["web"] };

async function told(context: TestContext, args: readonly string[]): Promise<{ code: number; err: string }> {
  let err = "";
  const { mock } = context.mock.method(process.stderr, "write", (text: string) => Boolean((err += text)));
  const code = await main(["node", "lameduck", ...args]);
  mock.restore();
  return { code, err };
}

test("every flag that takes a value stands in the table", () => {
  const commands = [
    labCommand(() => {}),
    rolloutCommand(() => {}),
    simulate(Number),
    explain(),
    installCommand(() => {}),
    statusCommand(() => {}),
    uninstallCommand(() => {}),
    initBinaryCommand(),
  ];
  for (const command of commands) {
    const known = command.options.filter((one) => one.required).map((one) => one.long?.slice(2));
    assert.deepEqual(new Set(known), new Set(Object.keys(flags[command.name()] ?? {})), command.name());
  }
});

test("an option of all commands is no option of one", async () => {
  const names = (command: Command): string[] =>
    command.options.flatMap(({ long, short }) => [long, short].filter((name) => typeof name === "string"));
  const shared = names(addSharedOptions(new Command("lameduck"), takenBy));
  for (const command of await commandsFor(undefined, Number))
    assert.deepEqual(
      names(command).filter((name) => shared.includes(name)),
      [],
      command.name(),
    );
});

for (const [command, kinds] of Object.entries(flags))
  for (const [flag, kind] of Object.entries(kinds))
    for (const value of wrong[kind])
      test(`${command} --${flag} "${value}" is one line with place, code and remedy, and exit code 2`, async (context) => {
        const { code, err } = await told(context, [command, ...(rest[command] ?? []), `--${flag}=${value}`]);
        assert.match(err, new RegExp(`^error .*--${flag}\\b.*\\[LAMEDUCK_[A-Z_]+\\]; .{10,}\\n$`));
        assert.equal(code, 2);
        if (kind === "duration" && /^[0-9.]+$/.test(value))
          assert.match(
            err,
            new RegExp(
              `--${flag}: "${value}" has no unit: write "${value}s" for ${value} seconds or "${value}ms" for ${value} milliseconds`,
            ),
          );
      });

for (const [command, known] of Object.entries(flags))
  test(`a misspelt flag of ${command} is one line that names the near one`, async (context) => {
    for (const flag of Object.keys(known)) {
      const { code, err } = await told(context, [command, `--${flag}x`, "1"]);
      assert.match(
        err,
        new RegExp(`^error lameduck ${command}: unknown option '--${flag}x'.*--${flag}\\b.*\\n$`),
      );
      assert.equal(code, 2);
    }
  });
