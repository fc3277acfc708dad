import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get, request, type IncomingMessage, type RequestOptions } from "node:http";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { UiServer } from "../src/live/ui-server.ts";
import { FakeCluster } from "../../rollout/test/fake-cluster.ts";
import { FakeService } from "../../rollout/test/fake-rollout.ts";
import { start, type Running } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-ui-"));
after(() => rmSync(folder, { recursive: true }));

async function served(t: TestContext): Promise<UiServer> {
  const ui = await UiServer.start();
  t.after(() => ui.close());
  return ui;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

async function ask(url: string, options: RequestOptions = {}): Promise<Answer> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { agent: false, ...options }, resolve)
      .once("error", reject)
      .end();
  });
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

/** An open page: what it is told. */
class Follower {
  text = "";
  readonly #answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    answer.setEncoding("utf8").on("data", (text: string) => (this.text += text));
    answer.on("error", () => undefined);
  }

  static async open(url: string): Promise<Follower> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(`${url}events`, { agent: false }, resolve).once("error", reject);
    });
    assert.equal(answer.statusCode, 200);
    return new Follower(answer);
  }

  async heard(words: string): Promise<void> {
    while (!this.text.includes(words)) {
      assert.ok(!this.#answer.closed, `ended without ${words}: ${this.text}`);
      await delay(10);
    }
  }

  leave(): void {
    this.#answer.destroy();
  }
}

test("a host name of somebody else is refused, whatever it asks for", async (t) => {
  const { url, port } = await served(t);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    `127.0.0.1.evil.example:${port}`,
    `127.0.0.2:${port}`,
  ])
    for (const path of ["", "report", "events"]) {
      const { status, body } = await ask(`${url}${path}`, { headers: { host } });
      assert.deepEqual([host, path, status, body], [host, path, 403, ""]);
    }
  assert.equal((await ask(url, { headers: { host: `localhost:${port}` } })).status, 200);
});

test("only GET is answered, and only for three paths", async (t) => {
  const { url } = await served(t);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
    for (const path of ["", "report", "events"]) {
      const { status, headers } = await ask(`${url}${path}`, { method });
      assert.deepEqual([method, status, headers.allow], [method, 405, "GET"]);
    }
  assert.equal((await ask(`${url}favicon.ico`)).status, 404);
  assert.equal((await ask(`${url}..%2f..%2fetc/passwd`)).status, 404);
});

test("the page allows its own script and no other; the last report is the page, and has none", async (t) => {
  const ui = await served(t);
  const live = await ask(ui.url);
  const [, script = ""] = /<script>(.*)<\/script>/s.exec(live.body) ?? [];
  const hash = createHash("sha256").update(script).digest("base64");
  assert.match(String(live.headers["content-security-policy"]), /^default-src 'none';/);
  assert.ok(String(live.headers["content-security-policy"]).includes(`script-src 'sha256-${hash}'`));
  ui.report("<!doctype html><main>so far</main>");
  const report = await ask(`${ui.url}report`);
  assert.equal(report.body, "<!doctype html><main>so far</main>");
  assert.doesNotMatch(String(report.headers["content-security-policy"]), /script-src|connect-src/);
  ui.final("<!doctype html><main>all</main>");
  ui.report("<!doctype html><main>late</main>");
  const last = await ask(ui.url);
  assert.equal(last.body, "<!doctype html><main>all</main>");
  assert.equal(last.headers["content-security-policy"], report.headers["content-security-policy"]);
});

test("open pages are told what changes, as lines that cannot end an event, and one that comes late what is so", async (t) => {
  const ui = await served(t);
  const first = await Follower.open(ui.url);
  ui.state("rolling\n\nevent: final\ndata: no");
  ui.report("one");
  ui.report("one");
  ui.report("two");
  await first.heard("event: report\ndata: \n\nevent: report");
  assert.equal(first.text.match(/^event: report$/gm)?.length, 2);
  assert.doesNotMatch(first.text, /^event: final/m);
  const late = await Follower.open(ui.url);
  await late.heard("data: rolling event: final data: no\n\nevent: report");
  ui.final("end");
  await Promise.all([first.heard("event: final"), late.heard("event: final")]);
});

test("more pages than it feeds are refused, until one leaves", async (t) => {
  const ui = await served(t);
  const open = await Promise.all(Array.from({ length: 16 }, () => Follower.open(ui.url)));
  const more = await Promise.all(Array.from({ length: 20 }, () => ask(`${ui.url}events`)));
  assert.deepEqual(new Set(more.map(({ status }) => status)), new Set([503]));
  // The page itself is still there for everybody.
  assert.equal((await ask(ui.url)).status, 200);
  open[0]?.leave();
  let again: Follower | undefined;
  while (!again) again = await Follower.open(ui.url).catch(() => undefined);
  ui.state("it goes on");
  await again.heard("it goes on");
});

test("connections without a request close, and leave room", async (t) => {
  const ui = await served(t);
  const idle = Array.from({ length: 100 }, () => connect(ui.port, "127.0.0.1"));
  t.after(() => idle.forEach((one) => one.destroy()));
  await Promise.all(
    idle.map(
      (one) =>
        new Promise((closed) =>
          one
            .on("error", () => undefined)
            .once("close", closed)
            .resume(),
        ),
    ),
  );
  assert.equal((await ask(ui.url)).status, 200);
});

test("a page that never reads is dropped, and the others are fed", async (t) => {
  const ui = await served(t);
  const deaf: Socket = connect(ui.port, "127.0.0.1");
  t.after(() => deaf.destroy());
  deaf.on("error", () => undefined);
  deaf.write(`GET /events HTTP/1.1\r\nhost: 127.0.0.1:${ui.port}\r\n\r\n`);
  deaf.pause();
  const reads = await Follower.open(ui.url);
  const long = "x".repeat(60_000);
  for (let i = 0; !deaf.closed; i++) {
    ui.state(`${i} ${long}`);
    await reads.heard(`data: ${i} `);
    reads.text = "";
    // A socket that is not read notices its end when it is.
    if (i > 200) deaf.resume();
    assert.ok(i < 2_000, "it is still fed");
  }
  ui.state("still here");
  await reads.heard("still here");
});

/** The address that a run prints. */
async function addressOf(running: Running): Promise<string> {
  let err = "";
  running.child.stderr?.on("data", (bytes: Buffer) => (err += bytes));
  await running.said(/the report as it grows: \S+\n/);
  return /as it grows: (\S+)/.exec(err)?.[1] ?? "";
}

async function isGone(url: string): Promise<boolean> {
  return ask(url).then(
    () => false,
    () => true,
  );
}

const lab = [
  "lab",
  "--remedies",
  "close",
  "--replicas",
  "2",
  "--rps",
  "100",
  "--warm-up",
  "1s",
  "--propagation",
  "1s",
  "--grace",
  "5s",
  "--allow-loss",
  "--ui",
];

test("a lab feeds its page, which becomes the report that --out writes, and stays until Ctrl-C", async () => {
  const html = join(folder, "lab.html");
  const running = start([...lab, "--out", html]);
  const url = await addressOf(running);
  const page = await Follower.open(url);
  await page.heard("event: report");
  const early = await ask(`${url}report`);
  assert.match(early.body, /The run still goes on: nothing is concluded yet/);
  assert.match(early.body, /close was not finished: it still goes on/);
  await page.heard("event: final");
  await running.said(/stays at \S+ until Ctrl-C/);
  const { body } = await ask(url);
  assert.equal(body, readFileSync(html, "utf8"));
  assert.match(body, /lost in 2 terminations/);
  assert.doesNotMatch(body, /<script/);
  page.leave();
  running.child.kill("SIGINT");
  const { code, err } = await running.ended;
  assert.equal(code, 0, err);
  assert.ok(await isGone(url));
});

test("a lab that is interrupted tells its page what was measured, and ends", async () => {
  const running = start([...lab, "--rollouts", "100"]);
  const url = await addressOf(running);
  const page = await Follower.open(url);
  await page.heard("rolling");
  running.child.kill("SIGINT");
  const { code, err } = await running.ended;
  assert.equal(code, 130, err);
  assert.match(page.text, /event: final/);
  assert.ok(await isGone(url));
});

test("a rollout feeds its page, too", async (t) => {
  const cluster = await FakeCluster.start();
  t.after(() => cluster.stop());
  cluster.deployment("web");
  await using service = await FakeService.start(cluster);
  const [kubeconfig, html] = [join(folder, "config"), join(folder, "rollout.html")];
  writeFileSync(
    kubeconfig,
    `{ current-context: x, clusters: [{ name: c, cluster: { server: "${cluster.url}" } }], contexts: [{ name: x, context: { cluster: c, namespace: shop } }] }`,
  );
  const what = ["rollout", "deployment/web", "--restart", "--yes", "--kubeconfig", kubeconfig];
  const running = start([
    ...what,
    "--url",
    service.url,
    "--warm-up",
    "0.5s",
    "--settle",
    "2s",
    "--ui",
    "--out",
    html,
  ]);
  const url = await addressOf(running);
  const page = await Follower.open(url);
  await page.heard("event: report");
  assert.match((await ask(`${url}report`)).body, /deployment\/web was not finished: it still goes on/);
  await running.said(/stays at \S+ until Ctrl-C/);
  assert.equal((await ask(url)).body, readFileSync(html, "utf8"));
  running.child.kill("SIGINT");
  const { code, err } = await running.ended;
  assert.equal(code, 0, err);
  assert.ok(await isGone(url));
});
