import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { resultsOf } from "../../accounting/test/results-of.ts";
import { program, runAlone, runProgram, start, withoutNamespaces } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-cli-test-"));
after(() => rmSync(folder, { recursive: true }));

/** Small enough for a busy machine, long enough to lose something. */
const quick = [
  "--replicas",
  "2",
  "--rps",
  "100",
  "--warm-up",
  "1s",
  "--propagation",
  "exactly 1s..2s",
  "--grace",
  "15s",
];

const skip = await withoutNamespaces();
const initHere = join(import.meta.dirname, "..", "..", "init", "dist", `lameduck-init-${process.arch}`);

// Each has namespaces of its own and little load.
describe("labs side by side", { concurrency: 3 }, () => {
  test("lab -f - reads a manifest from stdin", { skip }, async () => {
    const server =
      "require('http').createServer((q, r) => r.end()).listen(8080); process.on('SIGTERM', () => process.exit(0))";
    const manifest = `kind: Pod
metadata: { name: web }
spec: { containers: [{ name: web, command: [node, -e, "${server}"], ports: [{ containerPort: 8080 }], readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } }] }
`;
    const file = join(folder, "stdin.yaml");
    writeFileSync(file, manifest);
    const flags = ["lab", "-f", "-", "--remedies", "nothing", "--network", "namespaces", ...quick];
    const shell = ["-c", '"$@" < "$FILE"', "sh", process.execPath, program, ...flags];
    const { code, out, err } = await runProgram("sh", shell, { env: { ...process.env, FILE: file } });
    assert.equal(code, 1, err);
    assert.match(out, /nothing/);
  });

  test("a lab of the bundled sample loses requests by closing at SIGTERM, says why, and loses none by evidence", async () => {
    const file = join(folder, "lab.json");
    const html = join(folder, "lab.html");
    const junit = join(folder, "lab.xml");
    const markdown = join(folder, "lab.md");
    const { code, out, err } = await runAlone([
      "lab",
      "--remedies",
      "close,adaptive",
      "--allow-loss",
      ...quick,
      "--json",
      file,
      "--out",
      html,
      "--out",
      junit,
      "--out",
      markdown,
    ]);
    assert.equal(code, 0, err);
    const { remedies, seed } = resultsOf(readFileSync(file, "utf8"));
    const [close, adaptive] = remedies;
    assert.equal(seed, 1);
    assert.ok(close && adaptive);
    assert.deepEqual([close.terminations, adaptive.terminations], [2, 2]);
    assert.ok(close.lost > 0, "two seconds of stale senders cannot go unnoticed");
    assert.equal(close.lostRequests.length, close.lost);
    assert.ok((close.lostByCause.C1 ?? 0) > 0, JSON.stringify(close.lostByCause));
    assert.equal(adaptive.lost, 0, JSON.stringify(adaptive.lostRequests.slice(0, 5)));
    assert.ok(adaptive.hold.max < 15_000 - 1_000, "not because the grace period was spent");
    assert.match(out, /Shortest hold without a loss: adaptive/);
    assert.match(out, /lameduck lab -- node server\.js/);
    assert.match(readFileSync(html, "utf8"), /^<!doctype html>/);
    assert.match(
      readFileSync(junit, "utf8"),
      /<testsuite name="lameduck lab" tests="2" failures="0" errors="0"/,
    );
    assert.match(readFileSync(markdown, "utf8"), /^\| adaptive \| 2 \| 0 .* \*\*no loss\*\* \|$/m);
  });

  test("a lab meets a server of one's own where it listens, and holds it by --import", async () => {
    writeFileSync(
      join(folder, "server.cjs"),
      'require("node:http").createServer((q, r) => r.end("mine")).listen(3123);\n',
    );
    // As the last line of `npm start` says it, from where a clone stands.
    const own = join(folder, "server.cjs");
    const lab = ["lameduck", "lab", "--remedies", "adaptive", ...quick, "--json", "-", "--", "node", own];
    const { code, out, err } = await runProgram("npx", lab, { cwd: new URL("../../..", import.meta.url) });
    assert.equal(code, 0, err);
    const [adaptive] = resultsOf(out).remedies;
    assert.equal(adaptive?.lost, 0, JSON.stringify(adaptive?.lostRequests.slice(0, 5)));
    assert.deepEqual(
      adaptive?.each.map(({ killed }) => killed),
      [false, false],
    );
    if (!/shared loopback/.test(err)) assert.match(err, /listens on port 3123/);
  });

  test("a lab loads a server that speaks HTTP/2 over HTTP/2: bare it loses streams, held by --import none", async () => {
    const server = join(folder, "h2c.cjs");
    // As PID 1 without a handler it would serve on until SIGKILL, and often lose nothing.
    writeFileSync(
      server,
      'require("node:http2").createServer((q, r) => r.end("mine")).listen(process.env.PORT, process.env.HOST);\n' +
        'process.on("SIGTERM", () => process.exit());\n',
    );
    const own = ["--json", "-", "--", "node", server];
    const { code, out, err } = await runAlone(["lab", "--protocol", "h2c", ...quick, ...own]);
    assert.equal(code, 1, err);
    const { remedies, settings } = resultsOf(out);
    const [nothing, adaptive] = remedies;
    assert.deepEqual((settings["load"] as { protocol: string }).protocol, "h2c");
    assert.ok(nothing && nothing.sent > 100);
    assert.ok(nothing.lost > 0, "more than a second of stale senders cannot go unnoticed");
    assert.equal(adaptive?.lost, 0, JSON.stringify(adaptive?.lostRequests.slice(0, 5)));
  });

  test("a lab of a server that calls lameduck() itself has one row, as shipped; a policy that is named runs, and whose settings did is said", async () => {
    const own = join(folder, "own.mjs");
    const library = import.meta.resolve("@lameduck/node");
    writeFileSync(
      own,
      `import { createServer } from "node:http";\nimport { lameduck } from ${JSON.stringify(library)};\n` +
        'const server = createServer((q, r) => r.end("mine"));\nlameduck(server, { policy: "fixed", delay: "3s" });\n' +
        "server.listen(Number(process.env.PORT), process.env.HOST);\n",
    );
    const json = join(folder, "own.json");
    const args = ["lab", "--env", "LAMEDUCK_GRACE_PERIOD=15s", ...quick];
    const { code, out, err } = await runAlone([...args, "--json", json, "--", "node", own]);
    assert.equal(code, 0, err + out);
    const { remedies } = resultsOf(readFileSync(json, "utf8"));
    const [nothing] = remedies;
    assert.equal(remedies.length, 1);
    assert.equal(nothing?.lost, 0, JSON.stringify(nothing?.lostRequests.slice(0, 5)));
    assert.equal(nothing?.ownLameduck, true);
    assert.match(out, /^as shipped .* no loss$/m);
    assert.match(err, /adaptive is left out: the program brings Lameduck itself/);
    const named = await runAlone([...args, "--remedies", "adaptive", "--", "node", own]);
    assert.equal(named.code, 0, named.err + named.out);
    assert.match(named.out, /^adaptive \(own lameduck\) .* no loss$/m);
    assert.match(named.out.replaceAll(/\s+/g, " "), /its own settings \(policy fixed\)/);
  });

  test(
    "a lab of a program behind its own lameduck-init has one row, as shipped",
    { skip: skip || (!existsSync(initHere) && "lameduck-init is not built: npm run build:init") },
    async () => {
      const json = join(folder, "own-init.json");
      const server =
        "require('http').createServer((q, r) => r.end()).listen(process.env.PORT, process.env.HOST); process.on('SIGTERM', () => process.exit())";
      const own = [initHere, "--grace", "15s", "--", "node", "-e", server];
      const { code, out, err } = await runAlone([
        "lab",
        "--allow-loss",
        ...quick,
        "--json",
        json,
        "--",
        ...own,
      ]);
      assert.equal(code, 0, err + out);
      assert.match(out, /^as shipped /m);
      assert.match(err, /adaptive is left out: the program brings Lameduck itself/);
      assert.equal(resultsOf(readFileSync(json, "utf8")).remedies.length, 1);
    },
  );

  test("a lab calls terminations untested that no load went through, whatever is allowed", async () => {
    const args = ["lab", "--remedies", "nothing", ...quick, "--rps", "0.1", "--allow-loss"];
    const { code, out, err } = await runAlone(args);
    assert.equal(code, 5, err + out);
    assert.doesNotMatch(out, /no loss/);
    assert.match(out, /2 terminations are untested/);
  });

  test("a lab of a path that is never answered as it should be ends with an error, and no verdict", async () => {
    const server = join(folder, "closed.cjs");
    writeFileSync(
      server,
      'require("node:http").createServer((q, r) => { r.statusCode = 401; r.end(); }).listen(process.env.PORT, process.env.HOST);\n',
    );
    const { code, err, out } = await runAlone(["lab", "--path", "/nope", ...quick, "--", "node", server]);
    assert.equal(code, 4, err + out);
    assert.match(
      err,
      /GET \/nope: it never worked before the rollout: 401, .*LAMEDUCK_NEVER_WORKED.*--header/,
    );
    assert.doesNotMatch(out, /loss|loses|untested/);
  });

  test("SIGTERM ends a lab with exit code 143", async () => {
    const lab = start(["lab", "--remedies", "nothing", ...quick]);
    await lab.said(/starting/);
    lab.child.kill("SIGTERM");
    const { code, err } = await lab.ended;
    assert.equal(code, 143, err);
  });

  for (const args of [
    ["lab", "-f", "-"],
    ["audit", "-", "--prove"],
  ])
    test(
      `Ctrl-C ends ${args.join(" ")} while standard input goes on`,
      { skip, timeout: 60_000 },
      async () => {
        const temporary = mkdtempSync(join(folder, "temporary-"));
        const env = { ...process.env, TMPDIR: temporary };
        const child = spawn(process.execPath, [program, ...args], {
          env,
          stdio: ["pipe", "inherit", "inherit"],
        });
        const ended = once(child, "exit");
        // More than any pipe holds: once it is gone, it is being read.
        await new Promise((done) => child.stdin.write("#".repeat(4 << 20), done));
        child.kill("SIGINT");
        assert.deepEqual(await ended, [130, null]);
        assert.deepEqual(readdirSync(temporary), []);
      },
    );

  test("Ctrl-C ends a lab, keeps what is measured and leaves no process, namespace or file", async () => {
    const temporary = mkdtempSync(join(folder, "temporary-"));
    const file = join(folder, "results.json");
    const env = { ...process.env, TMPDIR: temporary };
    const lab = start(["lab", "--remedies", "nothing,close", ...quick, "--json", file], { env });
    await lab.said(/\[2\/2\] close: settling/);
    assert.ok(processesOf(temporary).length > 2, "the lab's processes are found by its folder");
    lab.child.kill("SIGINT");
    const { code, out, err } = await lab.ended;
    assert.equal(code, 130, err);
    assert.match(out, /nothing/);
    assert.match(err, /ending: what was measured is kept; once more ends at once/);
    assert.match(err, /1 of 2 remedies measured/);
    assert.match(out, /close was not finished: interrupted; what came later is not counted/);
    const { remedies } = resultsOf(readFileSync(file, "utf8"));
    assert.ok((remedies[1]?.sent ?? 0) > 50, "the load of the one under way is kept");
    assert.equal(remedies[1]?.interrupted, "interrupted");
    assert.deepEqual(processesOf(temporary), []);
    assert.deepEqual(readdirSync(temporary), []);
  });
});

/** The processes whose environment names a folder, as that of every pod names the lab's. */
function processesOf(temporary: string): string[] {
  if (process.platform !== "linux")
    return execFileSync("ps", ["-Eww", "-axo", "command="], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(temporary));
  return globSync("/proc/[0-9]*/environ").filter((file) => {
    try {
      return readFileSync(file, "utf8").includes(temporary);
    } catch {
      // It has ended meanwhile, or belongs to somebody else.
      return false;
    }
  });
}

test("two outputs into one file are refused, also by two names of it", async () => {
  const { code, err } = await runAlone([
    "lab",
    "--json",
    "./x.json",
    "--out",
    `html=${join(process.cwd(), "x.json")}`,
  ]);
  assert.equal(code, 2);
  assert.match(err, /--out: .*x\.json is written by --json, too \[LAMEDUCK_BAD_OPTION\]/);
  const [real, link] = [join(folder, "real.json"), join(folder, "link.xml")];
  writeFileSync(real, "");
  symlinkSync(real, link);
  const linked = await runAlone(["lab", "--json", real, "--out", link]);
  assert.equal(linked.code, 2);
  assert.match(linked.err, /--out: .*link\.xml is written by --json, too \[LAMEDUCK_BAD_OPTION\]/);
});
