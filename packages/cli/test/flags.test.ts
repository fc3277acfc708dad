import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { main } from "../src/main.ts";
import { explain } from "../src/explain/command.ts";
import { initBinaryCommand } from "../src/init-binary.ts";
import { installCommand } from "../src/install/install.ts";
import { statusCommand } from "../src/status/command.ts";
import { uninstallCommand } from "../src/install/uninstall.ts";
import { labCommand } from "../src/lab/command.ts";
import { rolloutCommand } from "../src/rollout/command.ts";
import { advise } from "../src/simulate/advise.ts";
import { simulate } from "../src/simulate/simulate.ts";

/** Kinds of values, each with what is none. "" is what a script makes of a variable that it forgot to set. */
const wrong = {
  duration: ["20", "1.5", "-5s", "", "5 parsecs", "5s5s", "9000h"],
  number: ["", "-1", "many", "5s"],
  whole: ["", "-1", "many", "5s", "1.5"],
  name: ["", "nonsense"],
  text: [],
} as const;

/** Of `simulate` and `advise` alike. */
const scenario = {
  senders: "name",
  replicas: "whole",
  rate: "number",
  terminations: "whole",
  grace: "duration",
  prestop: "duration",
  arrivals: "name",
  clients: "whole",
  snat: "whole",
  "max-surge": "whole",
  silent: "whole",
  lying: "whole",
  seed: "whole",
} as const;

/** Of `lab` and `rollout` alike. */
const request = {
  header: "name",
  method: "name",
  body: "text",
  "body-file": "text",
  message: "text",
  answer: "text",
  "expect-status": "name",
} as const;

/** Every flag that takes a value. The text of a file, a path or somebody else's name may be anything. */
const flags: Record<string, Record<string, keyof typeof wrong>> = {
  lab: {
    ...request,
    file: "text",
    remedies: "name",
    policy: "name",
    replicas: "whole",
    rollouts: "whole",
    rps: "number",
    pooled: "number",
    path: "text",
    slow: "number",
    "slow-path": "text",
    large: "number",
    "large-path": "text",
    protocol: "name",
    senders: "name",
    env: "name",
    allow: "name",
    writable: "text",
    propagation: "duration",
    port: "whole",
    "ready-path": "text",
    grace: "duration",
    "warm-up": "duration",
    seed: "whole",
    network: "name",
    json: "text",
    html: "text",
    junit: "text",
    markdown: "text",
  },
  rollout: {
    namespace: "text",
    context: "text",
    kubeconfig: "text",
    as: "text",
    "as-group": "text",
    ...request,
    "ca-file": "text",
    scale: "whole",
    drain: "text",
    pods: "whole",
    url: "name",
    protocol: "name",
    rps: "number",
    mode: "name",
    duration: "duration",
    "requests-max": "whole",
    "request-timeout": "duration",
    parallel: "whole",
    image: "text",
    requests: "text",
    "warm-up": "duration",
    settle: "duration",
    timeout: "duration",
    seed: "whole",
    json: "text",
    html: "text",
    junit: "text",
    markdown: "text",
  },
  simulate: {
    ...scenario,
    json: "text",
    html: "text",
  },
  advise: {
    ...scenario,
    file: "text",
    recording: "text",
    container: "text",
    json: "text",
    patch: "text",
  },
  explain: { json: "text", html: "text" },
  install: {
    namespace: "text",
    context: "text",
    kubeconfig: "text",
    "consumer-account": "name",
    "metrics-from": "text",
    disable: "name",
    enable: "text",
    image: "text",
    timeout: "duration",
  },
  status: { namespace: "text", context: "text", kubeconfig: "text" },
  uninstall: { namespace: "text", context: "text", kubeconfig: "text" },
  "init-binary": { arch: "name", output: "text" },
};

/** What has to stand on the command line besides. */
const rest: Record<string, string[]> = { rollout: ["deployment/web", "--watch"] };

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
    simulate(),
    advise(Number),
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
