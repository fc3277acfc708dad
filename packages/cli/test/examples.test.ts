import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Command } from "commander";
import { auditCommand } from "../src/audit/command.ts";
import { completion } from "../src/completion/command.ts";
import { initBinaryCommand } from "../src/init-binary.ts";
import { labCommand } from "../src/lab/command.ts";
import type { LabOptions } from "../src/lab/options.ts";
import { labSettings } from "../src/lab/settings.ts";
import { rolloutCommand } from "../src/rollout/command.ts";
import type { RolloutOptions } from "../src/rollout/options.ts";
import { rolloutRequest } from "../src/rollout/settings.ts";
import { advise } from "../src/simulate/advise.ts";
import { simulate } from "../src/simulate/simulate.ts";
import { examples, type Example } from "./examples-found.ts";
import { run, runAlone } from "./running.ts";

const ws = createRequire(import.meta.url).resolve("ws");
const fixtures = join(import.meta.dirname, "..", "..", "node", "test", "fixtures");
/** Where the files are that examples name, in a folder of its own for each lab. */
const folder = mkdtempSync(join(tmpdir(), "lameduck-examples-"));
after(() => rmSync(folder, { recursive: true }));
const here = process.cwd();
after(() => process.chdir(here));
furnish(folder, "http");

/** Writes what examples name, with a server that speaks what they ask for. */
function furnish(folder: string, protocol: string): void {
  mkdirSync(join(folder, "deploy"), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write(
    "config",
    `{ current-context: dev, clusters: [{ name: c, cluster: { server: "http://127.0.0.1:1" } }],
    contexts: [{ name: dev, context: { cluster: c } }] }`,
  );
  write("order.json", "{}");
  write("headers.txt", "Authorization: Bearer eyJh\n");
  write("k6.json", "");
  write("lab.json", "{}");
  const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: web, image: node, command: [node, server.js], workingDir: ${folder}, ports: [{ containerPort: 8080 }] }
`;
  for (const name of ["deployment.yaml", "web.yaml", "deploy/web.yaml"]) write(name, deployment);
  for (const name of ["localhost-key.pem", "localhost-cert.pem"])
    copyFileSync(join(fixtures, name), join(folder, name));
  write("shop.yaml", scenario());
  write(
    "server.js",
    `const fs = require("node:fs");\n${server(folder, protocol)}.listen(Number(process.env.PORT ?? 8080));\n`,
  );
}

/** The first scenario of its page, which has all fields. */
function scenario(): string {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "simulate.md"), "utf8");
  return /```yaml\n(.*?)```/s.exec(page)?.[1] ?? "";
}

function server(folder: string, protocol: string): string {
  const tls = `{ key: fs.readFileSync("${folder}/localhost-key.pem"), cert: fs.readFileSync("${folder}/localhost-cert.pem") }`;
  const create: Record<string, string> = {
    http: `require("node:http").createServer((_, response) => response.end("ok"))`,
    h2: `require("node:http2").createSecureServer(${tls}, (_, response) => response.end("ok"))`,
    grpc: `require("node:http2").createServer().on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(Buffer.alloc(5));
    })`,
    ws: `server = require("node:http").createServer((_, response) => response.end());
      new (require("${ws}").WebSocketServer)({ server }).on("connection", (socket) => socket.on("message", () => socket.send("pong")));
      server`,
  };
  const code = create[protocol];
  assert.ok(code, `no server speaks ${protocol}`);
  return code;
}

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
  simulate: (words) => read(simulate(), words, ignore),
  advise: (words) => read(advise(Number), words, ignore),
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
  command.exitOverride().configureOutput({ writeErr: ignore });
  await command.action(act).parseAsync([...words], { from: "user" });
}

const found = await examples(Object.keys(readers));
const of = (...names: string[]): Example[] => found.filter(({ words: [name = ""] }) => names.includes(name));

test("there are examples of every command that has any", () => {
  for (const [name, least] of [
    ["lab", 8],
    ["rollout", 10],
    ["simulate", 3],
    ["advise", 2],
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
  for (const [index, { from, line, words }] of of("lab").entries())
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
  if (words.includes("--compare")) return "minutes: the same as the others, for one remedy after another";
  const needed = ["haproxy", "nginx"].filter((name) => words.some((word) => word.includes(`${name}:`)));
  const gone = needed.find((name) => spawnSync(name, ["-v"]).error);
  return gone === undefined ? false : `${gone} is not installed`;
}

/** What is shown is that they run: few terminations show it as well as many. */
const brief: Readonly<Record<string, readonly string[]>> = {
  simulate: ["--terminations", "4"],
  advise: ["--terminations", "4"],
};
let recorded: Promise<void> | undefined;

for (const { from, line, words } of of("simulate", "advise", "completion"))
  test(`${from}: lameduck ${line.trim()}: runs`, async () => {
    if (words.includes("lab.json")) await (recorded ??= record());
    const { code, err } = await run([...words, ...(brief[words[0] ?? ""] ?? [])], { cwd: folder });
    assert.equal(code, 0, err);
  });

const elsewhere = /^(?:-n|-A|--all-namespaces|--cluster|--prove|-)$/;

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
    ["lab", "--policy", "adaptive", ...small, "--replicas", "2", "--rps", "100", "--json", "lab.json"],
    {
      cwd: folder,
    },
  );
  assert.notEqual(code, 2, err);
}
