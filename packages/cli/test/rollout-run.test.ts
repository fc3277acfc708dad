import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Results } from "@lameduck/accounting";
import { heldMark } from "@lameduck/protocol";
import { FakeCluster } from "../../rollout/test/fake-cluster.ts";
import { FakeService } from "../../rollout/test/fake-rollout.ts";
import { runAlone, start } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-cli-run-"));
after(() => rmSync(folder, { recursive: true }));

interface Parts extends AsyncDisposable {
  readonly cluster: FakeCluster;
  readonly service: FakeService;
  readonly args: readonly string[];
  readonly results: () => Results;
}

/** A Deployment of two pods with a Service, and the command that restarts it under load. */
async function deployed(through?: (url: string) => Promise<string>): Promise<Parts> {
  const cluster = await FakeCluster.start();
  cluster.deployment("web");
  const service = await FakeService.start(cluster);
  const id = Math.random();
  const server = (await through?.(cluster.url)) ?? cluster.url;
  const kubeconfig = join(folder, `config-${id}`);
  const json = join(folder, `results-${id}.json`);
  writeFileSync(
    kubeconfig,
    `{ current-context: x, clusters: [{ name: c, cluster: { server: "${server}" } }], contexts: [{ name: x, context: { cluster: c, namespace: shop } }] }`,
  );
  const run = ["rollout", "deployment/web", "--restart", "--yes", "--kubeconfig", kubeconfig, "--json", json];
  return {
    cluster,
    service,
    args: [...run, "--url", service.url, "--warm-up", "0.5s", "--settle", "0.5s"],
    results: () => JSON.parse(readFileSync(json, "utf8")) as Results,
    [Symbol.asyncDispose]: async () => {
      await cluster.stop();
      await service[Symbol.asyncDispose]();
    },
  };
}

test("the bound of the load follows from --timeout and --rps, and is printed; one that is too small is said to be", async () => {
  await using parts = await deployed();
  const args = [...parts.args, "--dry-run", "--rps", "100", "--timeout", "10m"];
  const { err } = await runAlone(args);
  // 0.5 s and 2 s before the first deletion, 10 min, and a minute of settling at most; a tenth more than are to be expected.
  assert.match(err, /at most 72,976 requests or 662\.5s, which is warm-up, --timeout and settling\n/);
  const few = await runAlone([...args, "--requests-max", "1000"]);
  assert.match(
    few.err,
    /at most 1,000 requests .*; that may be 653s too few, and what ends without it is untested/,
  );
});

test("a rollout under load runs from its beginning to its end, and loses nothing", async () => {
  await using parts = await deployed();
  const [junit, markdown] = [join(folder, "whole.xml"), join(folder, "whole.md")];
  const { code, err, out } = await runAlone([...parts.args, "--out", junit, "--out", markdown]);
  assert.equal(code, 0, err);
  assert.match(out, /no loss/);
  const xml = readFileSync(junit, "utf8");
  assert.match(
    xml,
    /<testsuite name="lameduck rollout" tests="1" failures="0" errors="0" time="[\d.]+" skipped="0"/,
  );
  assert.match(xml, /<system-out>deployment\/web lost none of [\d,]+ requests in 2 terminations/);
  const page = readFileSync(markdown, "utf8");
  assert.match(
    page,
    /^## lameduck rollout\n\ndeployment\/web lost none of [\d,]+ requests in 2 terminations/,
  );
  assert.match(page, /\| \*\*no loss\*\* \|/);
  const [result] = parts.results().remedies;
  assert.deepEqual([result?.terminations, result?.untested, result?.lost], [2, 0, 0]);
});

test("a URL whose requests never work ends a rollout before anything is changed, unless that is meant", async () => {
  await using parts = await deployed();
  parts.service.status = 401;
  const { code, err, out } = await runAlone(parts.args);
  assert.equal(code, 4, err + out);
  assert.match(err, /GET \/: it never worked before the rollout: 401, .*LAMEDUCK_NEVER_WORKED/);
  assert.match(err, /nothing was changed/);
  assert.deepEqual(
    parts.cluster.asked.filter(({ method }) => method !== "GET" && method !== "POST"),
    [],
  );
  const meant = await runAlone([...parts.args, "--expect-status", "401"]);
  assert.equal(meant.code, 0, meant.err);
});

test("terminations after the load's end are untested, and the exit code says so", async () => {
  await using parts = await deployed();
  const [junit, markdown] = [join(folder, "few.xml"), join(folder, "few.md")];
  const few = ["--rps", "100", "--requests-max", "50", "--out", junit, "--out", markdown];
  const { code, err, out } = await runAlone([...parts.args, ...few]);
  assert.equal(code, 5, err);
  const xml = readFileSync(junit, "utf8");
  assert.match(xml, /failures="0" errors="1" time="[\d.]+" skipped="0"/);
  assert.match(
    xml,
    /<error type="untested" message="2 of 2 terminations are untested: no request was sent while it ended">/,
  );
  assert.match(readFileSync(markdown, "utf8"), /\| \*\*untested\*\* \|[^]*2 of 2 terminations are untested/);
  assert.match(out, /2 of 2 terminations are untested \(no request was sent while it ended\)/);
  assert.match(out, /The load ended .* before the run did, after 50 requests/);
});

test("SIGTERM to a rollout's whole process group, as timeout(1) and CI send it, keeps what was sent", async () => {
  await using parts = await deployed();
  parts.cluster.termination = 60_000;
  const { child, ended } = start(parts.args, { detached: true });
  while (!parts.cluster.asked.some(({ method }) => method === "PATCH")) await delay(10);
  await delay(500);
  process.kill(-child.pid!, "SIGTERM");
  const { code, err } = await ended;
  assert.equal(code, 143, err);
  const [result] = parts.results().remedies;
  assert.ok((result?.sent ?? 0) > 50, JSON.stringify(result?.sent));
  assert.match(err, /the rollout of deployment\/web goes on/);
  assert.match(result?.each[0]?.untested ?? "", /had not ended when the run did/);
});

test("a rollout that is interrupted while pods are listed for the first time has changed nothing, and says so", async () => {
  const waiting = Promise.withResolvers<void>();
  const front = createServer((asked, answer) => {
    // Nothing but the beginning of a run asks for these pods.
    if (asked.url?.includes(encodeURIComponent(heldMark))) return waiting.resolve();
    const { method, headers, url = "/" } = asked;
    const onward = request(new URL(url, target), { method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    asked.pipe(onward);
  });
  let target = "";
  await using parts = await deployed(async (url) => {
    target = url;
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  });
  const { child, ended } = start(parts.args);
  await waiting.promise;
  child.kill("SIGINT");
  const { code, err } = await ended;
  front.closeAllConnections();
  front.close();
  assert.equal(code, 130, err);
  assert.match(err, /interrupted; nothing was changed/);
});
