import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import type { DrainReport } from "@lameduck/coordinator";
import { run, type Ended } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-report-"));
let answer: { status: number; body: object };
let asked: string[];
let server: Server;

before(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response
      .writeHead(answer.status, { "content-type": "application/json" })
      .end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const kubeconfig = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u", namespace: "shop" } }],
    clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "u", user: { token: "t" } }],
  };
  writeFileSync(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});

beforeEach(() => {
  asked = [];
});

after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const lameduck = (...args: string[]): Promise<Ended> =>
  run(["report", ...args, "--kubeconfig", join(folder, "kubeconfig")]);

function report(name: string, fields: Partial<DrainReport> = {}): DrainReport {
  return {
    apiVersion: "lameduck.dev/v1alpha1",
    kind: "DrainReport",
    metadata: { name: `${name}-0f5c7a12`, namespace: "shop", uid: `uid-${name}` },
    summary: {
      hold: "5.6s",
      released: "5.1s",
      reason: "acknowledged",
      atRisk: "1660 req",
      killed: "no",
      text: `${name} of deployment/web; held 5.6s (acknowledged); released by 2 of 2 senders after 5.1s (kube-proxy/<b>node2 last)`,
    },
    pod: { name, uid: `uid-${name}`, node: "node1" },
    workload: "deployment/web",
    program: "library",
    deletedAt: new Date(Date.now() - 60_000).toISOString(),
    graceSeconds: 60,
    moments: { withdrawn: 100, lameDuck: 20, released: 5_100, closing: 5_620, exited: 6_000, gone: 6_500 },
    hold: { ms: 5_600, reason: "acknowledged", words: "held 5.6 s: floor 1.0, released by 2 of 2 senders" },
    atRisk: { connections: 31, requests: 1_660 },
    killed: "no",
    consumers: [
      { name: "kube-proxy/<b>node2", kind: "kube-proxy", basis: "rules", state: "applied", appliedMs: 5_100 },
      { name: "kube-proxy/node1", kind: "kube-proxy", basis: "rules", state: "applied", appliedMs: 1_000 },
    ],
    containers: [{ name: "app", exitCode: 0, exitedMs: 6_000 }],
    unknown: [],
    ...fields,
  };
}

/** Nothing in it told anything. */
function mute(name: string): DrainReport {
  return report(name, {
    summary: {
      hold: "unknown",
      released: "unknown",
      reason: "unknown",
      atRisk: "unknown",
      killed: "unknown",
      text: `${name} of deployment/web; hold unknown; nothing reports for kube-proxy/node1`,
    },
    program: "unknown",
    moments: { withdrawn: 100 },
    hold: {},
    atRisk: {},
    killed: "unknown",
    consumers: [],
    containers: [],
    unknown: ["hold: no report from the pod"],
  });
}

const found = (...items: DrainReport[]): void => {
  answer = { status: 200, body: { items } };
};

test("senders that never stop sending are named and counted, and are a finding", async () => {
  const stuckConsumers = [{ name: "nginx/edge", reason: "not reloaded since its files changed" }];
  found(report("web-1", { stuckConsumers }), report("web-2", { stuckConsumers }), report("web-3"));
  const { code, out } = await lameduck();
  assert.equal(code, 1);
  assert.match(out, /^  still sending   nginx\/edge to 2 pods, 60 s after their ends$/m);
  const json = await lameduck("--json", "-");
  const { figures } = JSON.parse(json.out) as { figures: { stuck: object } };
  assert.deepEqual(figures.stuck, { "nginx/edge": 2 });
});

test("a row for each termination, and figures over those that told", async () => {
  const late = report("late-1", { deletedAt: new Date(Date.now() - 7_200_000).toISOString() });
  found(report("web-1"), late, mute("web-2"));
  const { code, out, err } = await lameduck();
  assert.equal(code, 0, err);
  assert.deepEqual(asked, ["/apis/lameduck.dev/v1alpha1/namespaces/shop/drainreports"]);
  assert.match(out, /^namespace shop: 2 terminations in the last 1h\n/);
  assert.match(out, /hold {12}p50 5\.6s {2}p90 5\.6s {2}max 5\.6s {2}\(1 of 2\)/);
  assert.match(out, /stop - release {2}p50 0\.5s/);
  assert.match(out, /stop reasons {4}acknowledged 1, unknown 1/);
  assert.match(out, /killed {10}0 \(and 1 of which nobody knows\)/);
  assert.match(out, /web-2 +deployment\/web +unknown +unknown +unknown +unknown +unknown/);
  assert.doesNotMatch(out, /late-1/);
});

test("of one pod every moment, consumer and exit, and what is not known", async () => {
  found(report("web-1"), mute("api-1"));
  const one = await lameduck("--pod", "web");
  assert.equal(one.code, 0, one.err);
  assert.match(
    one.out,
    / 5\.1s {2}released: every sender has stopped sending\n +5\.6s {2}the pod stops accepting/,
  );
  assert.match(one.out, /kube-proxy\/<b>node2 +rules +5\.1s/);
  assert.match(one.out, /container app: exit code 0 after 6\.0s/);
  const other = await lameduck("--pod", "api-1");
  assert.match(other.out, /not known: hold: no report from the pod/);
});

test("a page is one file without a script, with both chains of each termination that told", async () => {
  found(report("web-1"), mute("web-2"));
  const file = join(folder, "report.html");
  const { code, err } = await lameduck("--out", file);
  assert.equal(code, 0, err);
  const page = readFileSync(file, "utf8");
  assert.doesNotMatch(page, /<script|<b>node2|https?:\/\//);
  assert.equal(page.match(/<svg/g)?.length, 1);
  assert.match(page, /kube-proxy\/&lt;b&gt;node2 could still choose web-1 for 5\.1 s/);
  assert.match(page, /losses not counted/);
  assert.match(page, /Without a picture/);
});

test("the report as data has the figures and the reports", async () => {
  found(report("web-1"));
  const { out } = await lameduck("--json", "-");
  const { figures, reports } = JSON.parse(out) as { figures: { hold: { p50: number } }; reports: object[] };
  assert.deepEqual([figures.hold.p50, reports.length], [5_600, 1]);
});

test("a pod that was killed makes the exit code 1, no report at all 5", async () => {
  found(report("web-1", { killed: "yes" }));
  assert.equal((await lameduck()).code, 1);
  found();
  const { code, out } = await lameduck("--since", "30m");
  assert.equal(code, 5);
  assert.match(out, /no termination was recorded in the last 30m/);
});

test("a cluster without reports, and rights that are missing, are said with what to do", async () => {
  answer = { status: 404, body: { kind: "Status", code: 404, message: "not found" } };
  const missing = await lameduck();
  assert.equal(missing.code, 4);
  assert.match(missing.err, /LAMEDUCK_NO_REPORTS.*lameduck install --acknowledgements/s);
  answer = { status: 403, body: { kind: "Status", code: 403, message: "drainreports is forbidden" } };
  const forbidden = await lameduck("-n", "other");
  assert.equal(forbidden.code, 4);
  assert.match(forbidden.err, /LAMEDUCK_REPORTS_FORBIDDEN.*list drainreports/s);
});

test("lameduck report compares two runs, and fails where the second lost more", async () => {
  const folder = mkdtempSync(join(tmpdir(), "lameduck-compare-"));
  const file = (name: string, lost: number): string => {
    const each = Array.from({ length: 12 }, () => ({ lost }));
    const remedies = [{ remedy: "adaptive", hold: { p50: 4_000 }, each }];
    writeFileSync(join(folder, name), JSON.stringify({ schema: "lameduck.results/v1", remedies }));
    return join(folder, name);
  };
  try {
    const [none, many] = [file("none.json", 0), file("many.json", 9)];
    const worse = await run(["report", none, many]);
    assert.equal(worse.code, 1, worse.err);
    assert.match(worse.out, /^adaptive +12 -> 12 +0 -> 9 +4\.0 -> 4\.0 +<0\.001 +loses more$/m);
    assert.equal((await run(["report", many, none])).code, 0);
    const markdown = await run(["report", none, none, "--out", "markdown=-"]);
    assert.match(markdown.out, /^\| adaptive \| .* \| no difference shown \|$/m);
    writeFileSync(join(folder, "other.json"), "[]");
    const wrong = await run(["report", none, join(folder, "other.json")]);
    assert.equal(wrong.code, 2);
    assert.match(
      wrong.err,
      /other\.json: it holds no results of lameduck lab or rollout \[LAMEDUCK_BAD_RESULTS\]/,
    );
    assert.equal((await run(["report", none])).code, 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
