/** lameduck-init asks the coordinator: both as they are shipped, over real sockets. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { initProgram, withoutCompiler } from "../../init/test/compiled.ts";
import { Network, senderAddress } from "../../init/test/network.ts";
import { go, pod, reportOf, resultOf, sender, terminate } from "../../init/test/pod.ts";
import { endAll, Running, withoutNamespaces } from "../../init/test/running.ts";

after(endAll);
const file = fileURLToPath(new URL("real-pod-coordinator.ts", import.meta.url));

/** A cluster with this pod, and the flags by which the pod asks its coordinator. */
async function clusterOf(network: Network): Promise<{ cluster: Running; flags: string[] }> {
  const [command, ...rest] = network.asSender(process.execPath, file, network.pod);
  const cluster = new Running(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
  await cluster.until(() => cluster.lines.some((line) => line.startsWith("uid ")), "the pod's uid");
  const uid = cluster.lines.find((line) => line.startsWith("uid "))?.slice(4) ?? "";
  const we = ["--pod-name", "web-1", "--pod-namespace", "shop", "--pod-uid", uid];
  const flags = ["--floor", "500ms", "--loss-budget", "1e-9"];
  return { cluster, flags: [...flags, "--coordinator", `http://${senderAddress(3)}:8070`, ...we] };
}

const reportsOf = (cluster: Running): Record<string, string>[] =>
  cluster.lines
    .filter((line) => line.startsWith("reported "))
    .map((line) => JSON.parse(line.slice("reported ".length)) as Record<string, string>);

describe("lameduck-init and the coordinator", { skip: withoutCompiler || withoutNamespaces }, () => {
  before(() => void initProgram());

  test("lameduck-init ends its hold when the last node has let go, and the record has what the pod said", async () => {
    await using network = await Network.create();
    const { cluster, flags } = await clusterOf(network);
    // With the usual budget the pod's own evidence may be first where the sender's end is heard of late.
    const server = await pod(network, [...flags, "--loss-budget", "0.000001"]);
    const traffic = sender(network, 1, { every: 100, for: 3_000 });
    await go(traffic);
    await server.line("served");
    assert.deepEqual(reportsOf(cluster), []);
    cluster.process.stdin?.write("delete\n");
    terminate(server);
    cluster.process.stdin?.write("node1\nnode3\n");
    assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
    cluster.process.stdin?.write("node2\n");
    assert.equal((await server.ended).code, 0, server.stderr);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "acknowledged", server.stderr);
    assert.match(report.explanation, /released by 3 of 3 senders at \d+\.\d \(kube-proxy\/node2 last\)/);
    await cluster.until(() => reportsOf(cluster).some(({ phase }) => phase === "closing"), "the end is told");
    const said = reportsOf(cluster).at(-1);
    assert.equal(said?.["program"], "init");
    assert.equal(said["reason"], "acknowledged");
    assert.equal(said["senders"], senderAddress(1));
    assert.match(said["oldest-wait"] ?? "", /released by 3 of 3/);
  });

  test("lameduck-init overrules watchers that report too early, and the record names the sender", async () => {
    await using network = await Network.create();
    const { cluster, flags } = await clusterOf(network);
    const server = await pod(network, [...flags, "--loss-budget", "0.01"]);
    const traffic = sender(network, 1, { every: 100, for: 4_000 });
    await go(traffic);
    await server.line("served");
    cluster.process.stdin?.write("delete\nnode1\nnode2\nnode3\n");
    terminate(server);
    assert.equal((await resultOf(traffic)).lost, 0, server.stderr);
    assert.equal((await server.ended).code, 0, server.stderr);
    const report = reportOf(server.stderr);
    assert.equal(report.reason, "quiet", server.stderr);
    assert.match(report.explanation, /release overruled by 198\.18\.1\.1/);
    await cluster.until(
      () => reportsOf(cluster).some(({ overruledBy }) => overruledBy === senderAddress(1)),
      "the record names who overruled",
    );
  });
});
