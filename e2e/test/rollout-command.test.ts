import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cluster, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { expireWatches } from "../matrix/faults/expire-watches.ts";
import { program, resultsOf, RolloutProgram, type Ended, type KubeConfig } from "./rollout-program.ts";
import { apply, quietCluster, rolledOut } from "./support.ts";

const reason = await whyNot();
describe("lameduck rollout on a real cluster", { skip: reason ?? false }, () => {
  let cluster: Cluster;
  let folder: string;
  let lameduck: RolloutProgram;

  before(async () => {
    cluster = await quietCluster({ nodes: 2 });
    folder = await mkdtemp(join(tmpdir(), "lameduck-rollout-"));
    lameduck = await RolloutProgram.on(cluster, folder);
    await apply(
      cluster,
      deployment({ name: "plain", replicas: 2, environment: { SHUTDOWN: "close" } }),
      service("plain"),
      deployment({ name: "duck", replicas: 2, environment: { SHUTDOWN: "lameduck" } }),
      service("duck"),
      deployment({ name: "single", replicas: 1, environment: { SHUTDOWN: "close" } }),
      service("single"),
    );
    for (const name of ["plain", "duck", "single"]) await rolledOut(cluster, name);
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const start: RolloutProgram["start"] = (args, config) => lameduck.start(args, config);
  const run: RolloutProgram["run"] = (args, config) => lameduck.run(args, config);
  const address = (name: string): Promise<string> => lameduck.address(name);
  const load = ["--rps", "100", "--warm-up", "2s", "--settle", "1s", "--yes"];

  it("lameduck rollout restarts an app that keeps serving, loses nothing, and exits with 0", async () => {
    const file = join(folder, "duck.json");
    const { code, out, err } = await run([
      "deployment/duck",
      "--restart",
      "--url",
      `service=${await address("duck")}`,
      ...load,
      "--json",
      file,
    ]);
    const [result] = (await resultsOf(file)).results.remedies;
    assert.equal(code, 0, err + out);
    assert.deepEqual([result?.terminations, result?.lost, result?.killed], [2, 0, 0]);
    assert.ok((result?.sent ?? 0) > 200, `${result?.sent} sent`);
    // What the library in the pods says of itself, read from their logs.
    assert.ok(
      result?.each.every(({ stopReason }) => stopReason !== "exit"),
      JSON.stringify(result?.each),
    );
    assert.match(out, /lost none of [\d,]+ requests in 2 terminations/);
    // Each answer names its pod: 100 a second to two pods leave none of them without one.
    assert.deepEqual(
      result?.starts?.map(({ sender, pods, firstAnswer, lost: tooNew }) => [
        sender,
        pods,
        firstAnswer.count,
        tooNew,
      ]),
      [["service", 2, 2, 0]],
    );
    assert.match(
      out,
      /2 new pods became Ready\. From Ready to the first answer \(median, most\): service [\d.]+/,
    );
  });

  it("lameduck rollout names the readiness gate that nobody sets, and ends at its timeout with 4", async () => {
    const file = join(folder, "gated.json");
    const gated = deployment({ name: "gated", replicas: 1 });
    const { template } = gated["spec"] as { template: { spec: object } };
    await apply(cluster, gated, service("gated"));
    await rolledOut(cluster, "gated");
    const url = await address("gated");
    const running = start([
      "deployment/gated",
      "--watch",
      "--timeout",
      "15s",
      "--url",
      `service=${url}`,
      ...load,
      "--json",
      file,
    ]);
    await running.said(/^watching/m);
    Object.assign(template.spec, { readinessGates: [{ conditionType: "example.com/balancer" }] });
    await apply(cluster, gated);
    const { code, err } = await running.ended;
    assert.equal(code, 4, err);
    const words =
      /its containers are ready, and readiness gate example\.com\/balancer has not passed: nothing has set it/;
    assert.match(err, words);
    const { newPods = [] } = (await resultsOf(file)).results.remedies[0] ?? {};
    assert.deepEqual(
      newPods.map(({ readyAt, waitsFor = "" }) => [readyAt, words.test(waitsFor)]),
      [[undefined, true]],
    );
  });

  it("lameduck rollout says which requests an app lost that closes at SIGTERM, at which pod and why, and exits with 1", async () => {
    const file = join(folder, "plain.json");
    const running = start([
      "deployment/plain",
      "--restart",
      "--url",
      `service=${await address("plain")}`,
      ...load,
      "--json",
      file,
    ]);
    // A sender that certainly lags.
    await running.said(/^rolling/m);
    await cluster.pause("kube-proxy-1");
    await sleep(4_000);
    await cluster.resume("kube-proxy-1");
    const { code, err } = await running.ended;
    const { results: document, observed } = await resultsOf(file);
    const [result] = document.remedies;
    assert.ok(result);
    assert.equal(code, 1, err);
    assert.equal(result.terminations, 2);
    assert.ok(result.lostNew > 0, JSON.stringify(result.lostByCause));
    const stale = (result.lostByCause.C1 ?? 0) + (result.lostByCause.C2 ?? 0);
    assert.ok(stale > result.lost / 2, JSON.stringify(result.lostByCause));
    const terminated = new Set(result.each.map(({ pod }) => pod));
    const blamed = result.lostRequests.filter(({ pod }) => pod !== undefined && terminated.has(pod));
    assert.ok(blamed.length > result.lost / 2, "most are joined with a pod that was terminated");
    assert.ok(blamed.every(({ podKnownBy }) => podKnownBy !== undefined));
    assert.ok(observed.podsKnownBy.header > 200, JSON.stringify(observed.podsKnownBy));
  });

  const faults: [title: string, fault: () => Promise<void>, told: "interrupted" | "expired"][] = [
    ["the API server is restarted", () => cluster.restart("apiserver"), "interrupted"],
    ["its watches have expired (410)", () => expireWatches(cluster), "expired"],
  ];
  for (const [title, fault, told] of faults)
    it(`lameduck rollout goes on when ${title} in the middle`, async () => {
      const file = join(folder, `${told}.json`);
      const args = ["deployment/duck", "--delete", "--yes", "--url", await address("duck"), ...load];
      const running = start([...args, "--json", file]);
      await running.said(/^rolling/m);
      await fault();
      const { code, err } = await running.ended;
      const { results: document, observed } = await resultsOf(file);
      assert.equal(code, 0, err);
      assert.equal(observed.outcome.kind, "finished");
      assert.ok(observed.watch[told] > 0, JSON.stringify(observed.watch));
      assert.equal(document.remedies[0]?.terminations, 1);
    });

  it("lameduck rollout asks at a terminal, and does nothing without a yes", async () => {
    const pods = ["get", "pods", "-l", "app=single", "-o", "jsonpath={.items[*].metadata.name}"];
    const before = await cluster.kubectl(pods);
    const command = `${process.execPath} ${program} rollout deployment/single --delete --kubeconfig ${lameduck.kubeconfig}`;
    const inside = cluster.commandInside("node1", ["script", "-qec", command, "/dev/null"]);
    const terminal = spawn(inside.program, inside.args, { stdio: ["pipe", "pipe", "inherit"] });
    let shown = "";
    terminal.stdout.on("data", (bytes: Buffer) => (shown += bytes));
    const ended = new Promise((resolve) => terminal.on("close", resolve));
    await until(() => Promise.resolve(/Type yes to go on: /.test(shown)), { what: "the question" });
    terminal.stdin.write("n\n");
    await ended;
    assert.equal(terminal.exitCode, 2, shown);
    assert.match(shown, /LAMEDUCK_NOT_CONFIRMED/);
    assert.equal(await cluster.kubectl(pods), before);
  });

  it("lameduck rollout names the verb and the resource that are not allowed, and the Role it prints is enough", async () => {
    await cluster.kubectl(["create", "serviceaccount", "roller"]);
    const token = (await cluster.kubectl(["create", "token", "roller"])).trim();
    const config = JSON.parse(await readFile(lameduck.kubeconfig, "utf8")) as KubeConfig;
    const weak = join(folder, "weak");
    await writeFile(
      weak,
      JSON.stringify({ ...config, users: [{ name: config.users[0].name, user: { token } }] }),
    );
    const args = ["deployment/single", "--restart"];

    const refused = await run([...args, "--yes"], weak);
    assert.equal(refused.code, 4, refused.err);
    assert.match(
      refused.err,
      /not allowed: get deployments\.apps "single" in namespace default; .*patch deployments/,
    );
    assert.match(refused.err, /\[LAMEDUCK_API_FORBIDDEN\]/);

    const { out } = await run([...args, "--dry-run"], weak);
    await cluster.kubectl(["apply", "-f", "-"], out);
    const account = "--serviceaccount=default:roller";
    await cluster.kubectl(["create", "rolebinding", "roller", "--role=lameduck-rollout", account]);
    await cluster.kubectl([
      "create",
      "clusterrolebinding",
      "roller",
      "--clusterrole=lameduck-rollout",
      account,
    ]);
    let allowed: Ended | undefined;
    // RBAC is taken up within moments, not at once.
    await until(
      async () => {
        allowed = await run([...args, "--dry-run"], weak);
        return allowed.code === 0;
      },
      { what: "the Role to be enough", timeoutMs: 20_000 },
    );
    assert.doesNotMatch(allowed?.err ?? "", /not allowed/);
    assert.match(allowed?.err ?? "", /one replica/);
    const rolled = await run([...args, "--yes"], weak);
    assert.equal(rolled.code, 5, "without a load nothing is tested");
    assert.doesNotMatch(rolled.err, /not allowed|interrupted/);
  });

  it("lameduck rollout ends a rollout that cannot finish, and says why its pods wait", async () => {
    const running = start(["deployment/single", "--watch", "--timeout", "6s"]);
    await running.said(/^watching/m);
    const server = { name: "server", image: "no.such.registry/image:1", imagePullPolicy: "Never" };
    const patch = { spec: { template: { spec: { containers: [server] } } } };
    await cluster.kubectl(["patch", "deployment/single", "-p", JSON.stringify(patch)]);
    const { code, err } = await running.ended;
    await cluster.kubectl(["rollout", "undo", "deployment/single"]);
    assert.equal(code, 4, err);
    assert.match(err, /did not finish: 1 of 1 pod updated, 1 available, 1 old/);
    assert.match(err, /single-\S+ server: ErrImageNeverPull: /);
  });

  it("lameduck rollout takes back at Ctrl-C what it did to a node, and keeps what it saw", async () => {
    const file = join(folder, "drain.json");
    const url = await address("duck");
    const running = start(["deployment/duck", "--drain", "node2", "--url", url, ...load, "--json", file]);
    await running.said(/^rolling/m);
    const cordoned = ["get", "node", "node2", "-o", "jsonpath={.spec.unschedulable}"];
    await until(async () => (await cluster.kubectl(cordoned)) === "true", { what: "node2 cordoned" });
    // The command itself is the grandchild: a terminal would tell it directly.
    await cluster.inside("node1", [
      "pkill",
      "-INT",
      "-f",
      `^${process.execPath} ${program} rollout deployment/duck --drain`,
    ]);
    const { code, err } = await running.ended;
    assert.equal(code, 130, err);
    assert.match(err, /interrupted: pods that were asked to go do go/);
    assert.match(err, /uncordoned node2/);
    assert.equal(await cluster.kubectl(cordoned), "");
    assert.equal((await resultsOf(file)).observed.outcome.kind, "interrupted");
  });

  const mistakes: [title: string, args: string[], says: RegExp, code: number][] = [
    [
      "no such target",
      ["deployment/wep", "--restart", "--yes"],
      /there is .*plain.*\[LAMEDUCK_NO_SUCH_TARGET\]/,
      2,
    ],
    [
      "no such node",
      ["deployment/plain", "--drain", "node9", "--yes"],
      /nodes "node9" not found.*\[LAMEDUCK_API_REFUSED\]/,
      4,
    ],
    [
      "a URL that nobody answers",
      ["deployment/plain", "--restart", "--yes", "--url", "http://198.18.0.1:9/"],
      /ECONNREFUSED.*\[LAMEDUCK_URL_NOT_ANSWERING\]/,
      4,
    ],
    ["nobody to ask", ["deployment/plain", "--restart"], /--yes: .*\[LAMEDUCK_NOT_CONFIRMED\]/, 2],
    [
      "a pod that cannot be restarted",
      ["deployment/plain", "--scale", "2", "--yes"],
      /\[LAMEDUCK_CANNOT_ROLL\]/,
      2,
    ],
  ];
  for (const [title, args, says, exit] of mistakes)
    it(`lameduck rollout says in a line or two what is wrong and exits with ${exit}: ${title}`, async () => {
      const { code, err } = await run(args);
      assert.match(err, says);
      assert.equal(code, exit, err);
      assert.doesNotMatch(err, /^\s+at .+:\d+:\d+/m, "no stack trace");
    });
});
