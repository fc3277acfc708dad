import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Command } from "commander";
import { auditCommand } from "../src/audit/command.ts";
import { takenBy } from "../src/commands.ts";
import { completion } from "../src/completion/command.ts";
import { initBinaryCommand } from "../src/init-binary.ts";
import { labCommand } from "../src/lab/command.ts";
import type { LabOptions } from "../src/lab/options.ts";
import { labSettings } from "../src/lab/settings.ts";
import { rolloutCommand } from "../src/rollout/command.ts";
import type { RolloutOptions } from "../src/rollout/options.ts";
import { rolloutRequest } from "../src/rollout/settings.ts";
import { addSharedOptions } from "../src/shared.ts";
import { simulate } from "../src/simulate/command.ts";
import { furnish } from "./examples-files.ts";
import { examples, type Example } from "./examples-found.ts";
import { run, runAlone } from "./running.ts";

/** Where the files are that examples name, in a folder of its own for each lab. */
const folder = mkdtempSync(join(tmpdir(), "lameduck-examples-"));
after(() => rmSync(folder, { recursive: true }));
const here = process.cwd();
after(() => process.chdir(here));
furnish(folder, "http");

/** Reads a command line as its command does, up to where it would act. */
const readers: Readonly<Record<string, (words: readonly string[]) => Promise<void>>> = {
  lab: (words) =>
    read(labCommand(ignore), words, async (argv: string[], options: LabOptions) => {
      await labSettings(options, argv);
    }),
  rollout: (words) =>
    read(rolloutCommand(ignore), words, (target: string, options: RolloutOptions) => {
      rolloutRequest(target, { ...options, kubeconfig: join(folder, "config") });
    }),
  simulate: (words) => read(simulate(Number), words, ignore),
  audit: (words) => read(auditCommand(Number), words, ignore),
  "init-binary": (words) => read(initBinaryCommand(), words, ignore),
  completion: (words) => read(completion(), words, ignore),
};

function ignore(): void {
  // What it would do is not done here.
}

async function read(
  command: Command,
  words: readonly string[],
  act: Parameters<Command["action"]>[0],
): Promise<void> {
  const program = addSharedOptions(new Command("lameduck"), takenBy);
  program.exitOverride().configureOutput({ writeErr: ignore });
  program.addCommand(command.copyInheritedSettings(program).action(act));
  await program.parseAsync([command.name(), ...words], { from: "user" });
}

const found = await examples(Object.keys(readers));
const of = (...names: string[]): Example[] => found.filter(({ words: [name = ""] }) => names.includes(name));

test("there are examples of every command that has any", () => {
  for (const [name, least] of [
    ["lab", 8],
    ["rollout", 10],
    ["simulate", 5],
    ["audit", 10],
    ["completion", 3],
  ] as const)
    assert.ok(of(name).length >= least, `${of(name).length} of ${name}`);
});

for (const { from, line, words } of found)
  test(`${from}: lameduck ${line.trim()}: is understood`, async () => {
    const [name = "", ...rest] = words;
    process.chdir(folder);
    await readers[name]?.(rest);
  });

/** One pod, few requests and no delay: what is shown is that it runs, not what it finds. */
const small = "--replicas 1 --rollouts 1 --rps 20 --warm-up 200ms --propagation instant --grace 5s".split(
  " ",
);

// They mostly wait.
describe("labs", { concurrency: 3 }, () => {
  // Those of README and docs/start run as written, in start-pages.test.ts.
  const labs = of("lab").filter(({ from }) => !/^README\.md$|^docs\/start\//.test(from));
  for (const [index, { from, line, words }] of labs.entries())
    test(`${from}: lameduck ${line.trim()}: runs`, { skip: missing(words) }, async () => {
      const own = join(folder, `lab-${index}`);
      const protocol = words[words.indexOf("--protocol") + 1];
      furnish(own, words.includes("--protocol") ? (protocol ?? "http") : "http");
      const end = words.indexOf("--");
      const args =
        end === -1 ? [...words, ...small] : [...words.slice(0, end), ...small, ...words.slice(end)];
      const { code, err } = await runAlone(args, { cwd: own });
      // Names that nobody here knows are told.
      if (code === 4) assert.match(err, /\.example.*\[LAMEDUCK_ALLOW_UNKNOWN_HOST\]/);
      // 0 clean, 1 losses, 5 untested.
      else assert.ok(code === 0 || code === 1 || code === 5, `${code}: ${err}`);
    });
});

function missing(words: readonly string[]): string | false {
  if (process.env["LAMEDUCK_RUN_EXAMPLES"] !== "1") return "takes minutes in all: npm run test:examples";
  if (words.includes("usual")) return "minutes: the same as the others, for one remedy after another";
  if (words.includes("--image")) return "needs an image on this machine";
  const needed = ["haproxy", "nginx"].filter((name) =>
    words.some((word) => word === name || word.includes(`${name}:`)),
  );
  const gone = needed.find((name) => spawnSync(name, ["-v"]).error);
  return gone === undefined ? false : `${gone} is not installed`;
}

/** What is shown is that they run: few terminations show it as well as many. */
const brief: Readonly<Record<string, readonly string[]>> = {
  simulate: ["--terminations", "4"],
};
let recorded: Promise<void> | undefined;

for (const { from, line, words } of of("simulate", "completion"))
  test(`${from}: lameduck ${line.trim()}: runs`, async () => {
    if (words.includes("lab.json")) await (recorded ??= record());
    const { code, err } = await run([...words, ...(brief[words[0] ?? ""] ?? [])], { cwd: folder });
    assert.equal(code, 0, err);
  });

const elsewhere = /^(?:-n|-A|--all-namespaces|--prove|-)$/;

for (const { from, line, words } of of("audit"))
  test(
    `${from}: lameduck ${line.trim()}: runs`,
    { skip: words.some((word) => elsewhere.test(word)) },
    async () => {
      const { code, err } = await run(words, { cwd: folder });
      assert.ok([0, 1, 5].includes(code ?? -1), `${code}: ${err}`);
    },
  );

/** What advice can be taken from: a lab's own results where the labs are run, too. */
async function record(): Promise<void> {
  if (process.env["LAMEDUCK_RUN_EXAMPLES"] !== "1") {
    const each = [{ pod: "web-1", deletedAt: 0, oracle: 3_000 }];
    writeFileSync(
      join(folder, "lab.json"),
      JSON.stringify({ tool: "lab", remedies: [{ sent: 500, duration: 5_000, each }] }),
    );
    return;
  }
  const { code, err } = await runAlone(
    ["lab", "--remedies", "adaptive", ...small, "--replicas", "2", "--rps", "100", "--json", "lab.json"],
    {
      cwd: folder,
    },
  );
  assert.notEqual(code, 2, err);
}
