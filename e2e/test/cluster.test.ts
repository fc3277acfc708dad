import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { Cluster, isReady, leftovers, stateDirectory, until, whyNot } from "../cluster/index.ts";
import { deployment, service } from "../cluster/workload.ts";
import { apply, fetchFrom, podNames, quietCluster, rolledOut } from "./support.ts";

const reason = await whyNot();

describe("a cluster of three nodes", { skip: reason ?? false }, () => {
  let cluster: Cluster;

  before(async () => {
    cluster = await quietCluster({ nodes: 3, proxyLag: ["1s", "2s"], proxyMode: "nftables" });
    await apply(
      cluster,
      deployment({ name: "web", replicas: 6 }),
      service("web"),
      service("each", { headless: true, selects: "web" }),
    );
    await rolledOut(cluster, "web");
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
    assert.deepEqual(await leftovers(stateDirectory()), []);
  });

  /** kube-proxies lag by up to their period; converged is who reaches these pods and no other. */
  async function converged(machine: string, address: string, pods: ReadonlySet<string>): Promise<void> {
    await until(
      async () => {
        const answered = new Set(await fetchFrom(cluster, machine, `http://${address}/`, 12 * pods.size));
        return answered.size === pods.size && [...answered].every((pod) => pods.has(pod));
      },
      { what: `the ${pods.size} pods of ${address} seen from ${machine}` },
    );
  }

  it("the test cluster spreads a Deployment of six pods and reaches all of them through the ClusterIP from every node and the API server", async () => {
    const address = await cluster.kubectl(["get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"]);
    const pods = new Set(await podNames(cluster, "web"));
    assert.equal(pods.size, 6);
    // The API server stands in the fabric, and calls webhooks by their Service.
    for (const machine of ["node1", "node2", "node3", "fabric"]) await converged(machine, address, pods);
  });

  it("the test cluster resolves Services by name inside pods, headless ones to the addresses of their pods", async () => {
    const [pod = ""] = await podNames(cluster, "web");
    const ask = `
      const { lookup } = require("node:dns/promises");
      (async () => {
        const body = await (await fetch("http://web/")).text();
        const all = await lookup("each.default.svc.cluster.local", { all: true, family: 4 });
        console.log(JSON.stringify({ body: body.trim(), addresses: all.map((one) => one.address).sort() }));
      })();`;
    const answer = JSON.parse(await cluster.kubectl(["exec", pod, "--", "node", "-e", ask])) as {
      body: string;
      addresses: string[];
    };
    const addresses = await cluster.kubectl([
      "get",
      "pods",
      "-l",
      "app=web",
      "-o",
      "jsonpath={.items[*].status.podIP}",
    ]);
    assert.ok((await podNames(cluster, "web")).includes(answer.body));
    assert.deepEqual(answer.addresses, addresses.split(" ").sort());
  });

  it("the test cluster has no way out: an address outside is unreachable from nodes and pods", async () => {
    const [pod = ""] = await podNames(cluster, "web");
    // TEST-NET-1 (RFC 5737) belongs to nobody; the fabric has no route, so the answer is immediate.
    const dial = `require("node:net").connect(80, "192.0.2.1").setTimeout(3000, function () { this.destroy(new Error("silence")); }).on("connect", () => console.log("connected")).on("error", (e) => console.log(e.code ?? e.message))`;
    assert.match(await cluster.inside("node1", [process.execPath, "-e", dial]), /ENETUNREACH|EHOSTUNREACH/);
    assert.match(await cluster.kubectl(["exec", pod, "--", "node", "-e", dial]), /ENETUNREACH|EHOSTUNREACH/);
  });

  it("the test cluster rolls the Deployment to new pods", async () => {
    const before = new Set(await podNames(cluster, "web"));
    await cluster.kubectl(["rollout", "restart", "deployment/web"]);
    await rolledOut(cluster, "web");
    await until(async () => (await podNames(cluster, "web")).every((name) => !before.has(name)), {
      what: "only new pods",
    });
    assert.equal((await podNames(cluster, "web")).length, 6);
  });

  it("the test cluster gives each component its own identity and no more", async () => {
    const can = (kubeconfig: string, ...question: string[]): Promise<string> =>
      cluster
        .kubectl([
          "--kubeconfig",
          `${cluster.directory}/pki/${kubeconfig}.kubeconfig`,
          "--server",
          cluster.serverOutside,
          "auth",
          "can-i",
          ...question,
        ])
        .then(
          (text) => text.trim(),
          () => "no",
        );
    assert.equal(await can("admin", "delete", "nodes"), "yes");
    assert.equal(await can("kube-proxy", "list", "endpointslices.discovery.k8s.io"), "yes");
    assert.equal(await can("kube-proxy", "delete", "pods"), "no");
    assert.equal(await can("coredns", "list", "secrets"), "no");
    const stranger = cluster.kubectl([
      "--kubeconfig=/dev/null",
      "--server",
      cluster.serverOutside,
      "--certificate-authority",
      `${cluster.directory}/pki/ca.crt`,
      "--username=x",
      "--password=y",
      "get",
      "nodes",
    ]);
    await assert.rejects(stranger, /system:anonymous.*cannot list/);
  });

  it("the test cluster recovers after every component was killed with SIGKILL and started again by name", async () => {
    for (const name of cluster.componentNames) {
      await cluster.kill(name);
      assert.equal(await cluster.stateOf(name), "ended");
      await cluster.restart(name);
    }
    await until(() => isReady(cluster.api), { what: "API server ready again" });
    const before = new Set(await podNames(cluster, "web"));
    await until(() => cluster.kubectl(["rollout", "restart", "deployment/web"]), {
      what: "a restart of the Deployment",
    });
    await rolledOut(cluster, "web");
    await until(async () => (await podNames(cluster, "web")).every((name) => !before.has(name)), {
      what: "only new pods",
    });
    const states = await Promise.all(cluster.componentNames.map((name) => cluster.stateOf(name)));
    assert.deepEqual(new Set(states), new Set(["running"]), "and none has ended since");
  });

  it("the test cluster stops and continues a component: a stopped kube-proxy does not learn of new endpoints", async () => {
    const address = await cluster.kubectl(["get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"]);
    await converged("node2", address, new Set(await podNames(cluster, "web")));
    await cluster.pause("kube-proxy-2");
    assert.equal(await cluster.stateOf("kube-proxy-2"), "stopped");
    await cluster.kubectl(["scale", "deployment/web", "--replicas=7"]);
    await rolledOut(cluster, "web");
    const pods = new Set(await podNames(cluster, "web"));
    await converged("node1", address, pods);
    const behind = new Set(await fetchFrom(cluster, "node2", `http://${address}/`, 70));
    assert.equal(behind.size, 6, "node2 still has the six pods of before");
    await cluster.resume("kube-proxy-2");
    await converged("node2", address, pods);
  });

  it("the test cluster leaves no command behind in a node when its caller is killed", async () => {
    const { program, args } = cluster.commandInside("node1", ["sleep", "1234"]);
    const child = spawn(program, args, { stdio: "ignore" });
    const running = (): Promise<boolean> =>
      cluster.inside("node1", ["ps", "-eo", "args"]).then((text) => /^sleep 1234$/m.test(text));
    await until(running, { what: "the command running" });
    child.kill("SIGKILL");
    await until(async () => !(await running()), { what: "its end" });
  });

  it("the test cluster names an unknown component", async () => {
    await assert.rejects(cluster.kill("kube-proxy-9"), { code: "LAMEDUCK_CLUSTER_UNKNOWN_COMPONENT" });
    await assert.rejects(Cluster.up({ say: () => undefined }), { code: "LAMEDUCK_CLUSTER_BUSY" });
  });

  it("the test cluster leaves nothing of its own in the host's namespaces", async () => {
    const mounts = await readFile("/proc/self/mounts", "utf8");
    assert.doesNotMatch(mounts, /lameduck/);
  });
});
