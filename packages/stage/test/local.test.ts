import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { connect, type AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { readManifest } from "@lameduck/manifests";
import { closesAtTerm, ignoresTerm, node, observe, stageNetwork, workload } from "./local-stage.ts";

const network = await stageNetwork(import.meta.filename);
if (network) {
  const limit = { timeout: 60_000 };
  const withPython = { ...limit, skip: spawnSync("python3", ["--version"]).status !== 0 && "needs python3" };
  const names = (pods: readonly { readonly name: string }[]): string[] =>
    pods.map(({ name }) => name).toSorted();

  suite("stage", { concurrency: 4 }, () => {
    test(
      "the pods of a stage are ready, reachable each at an address of its own, and replaced",
      limit,
      async (context) => {
        const observed = observe(context, network, workload(node(closesAtTerm), { replicas: 2 }));
        await observed.stage.ready();
        assert.deepEqual([...observed.endpoints.keys()].toSorted(), ["web-1", "web-2"]);
        for (const { pod, address, port } of observed.endpoints.values())
          assert.equal(await (await fetch(`http://${address}:${port}/`)).text(), pod);
        const addresses = [...observed.endpoints.values()].map(({ address, port }) => `${address}:${port}`);
        assert.equal(new Set(addresses).size, 2);

        await observed.stage.rollout();
        assert.deepEqual(names(observed.stage.pods), ["web-3", "web-4"]);
        assert.equal(observed.all("deleted").length, 2);
        const gone = observed.told.filter(({ what }) => what === "gone");
        assert.deepEqual(gone.map(({ pod }) => pod).toSorted(), ["web-1", "web-2"]);
        const third = await observed.first("ready", "web-3");
        const [deleted] = observed.all("deleted");
        assert.ok(
          third.at <= (deleted?.at ?? 0),
          "25 % of 2 may be unavailable, which is none: no pod goes before",
        );
        assert.equal(deleted?.why, "rollout");
        assert.equal(deleted?.grace, 3_000);
        assert.deepEqual(observed.all("crashed"), []);
      },
    );

    test("a pod counts as available only after minReadySeconds", limit, async (context) => {
      const observed = observe(context, network, workload(node(closesAtTerm)), { minReadySeconds: 1 });
      await observed.stage.ready();
      await observed.stage.rollout();
      const ready = await observed.first("ready", "web-2");
      const deleted = await observed.first("deleted", "web-1");
      assert.ok(deleted.at - ready.at >= 990, `${deleted.at - ready.at} ms`);
    });

    test("a deleted pod is replaced, and scaling down ends the surplus", limit, async (context) => {
      const observed = observe(context, network, workload(node(closesAtTerm), { replicas: 2 }));
      await observed.stage.ready();
      await observed.stage.deletePod("web-1");
      await observed.first("ready", "web-3");
      assert.throws(() => observed.stage.deletePod("web-1"), { code: "LAMEDUCK_NO_SUCH_POD" });
      await observed.stage.scale(1);
      assert.equal(observed.stage.pods.length, 1);
      assert.deepEqual(
        observed.all("deleted").map(({ why }) => why),
        ["delete", "scale down"],
      );
    });

    test("a deletion may come with a shorter grace period", limit, async (context) => {
      const observed = observe(
        context,
        network,
        workload(node(ignoresTerm), { pod: { graceSeconds: 1_000 } }),
      );
      await observed.stage.ready();
      await observed.stage.deletePod("web-1", { graceSeconds: 0 });
      const { at: signalled } = await observed.first("signalled", "web-1");
      const { at: killed } = await observed.first("killed", "web-1");
      assert.ok(killed - signalled >= 1_980, "the kubelet's least is two seconds");
    });

    test(
      "the strategy Recreate ends every old pod before the first new one starts",
      limit,
      async (context) => {
        const made = {
          ...workload(node(closesAtTerm), { replicas: 2 }),
          strategy: { kind: "recreate" } as const,
        };
        const observed = observe(context, network, made);
        await observed.stage.ready();
        await observed.stage.rollout();
        const gone = Math.max(...observed.all("gone").map(({ at }) => at));
        assert.ok((await observed.first("created", "web-3")).at >= gone);
      },
    );

    test(
      "a StatefulSet is updated pod by pod, from the highest ordinal, under the same names",
      limit,
      async (context) => {
        const { template, ...rest } = workload(node(closesAtTerm), { replicas: 2, pod: { name: "db" } });
        const strategy = { kind: "ordered", partition: 0, startTogether: false } as const;
        const observed = observe(context, network, { ...rest, template, strategy });
        await observed.stage.ready();
        assert.ok((await observed.first("created", "db-1")).at >= (await observed.first("ready", "db-0")).at);
        await observed.stage.rollout();
        const order = observed.events.filter(
          ({ type }) => type === "deleted" || type === "gone" || type === "ready",
        );
        assert.deepEqual(
          order.map(({ type, pod }) => `${pod} ${type}`),
          [
            "db-0 ready",
            "db-1 ready",
            "db-1 deleted",
            "db-1 gone",
            "db-1.2 ready",
            "db-0 deleted",
            "db-0 gone",
            "db-0.2 ready",
          ],
        );
        const { address, port } = observed.endpoints.get("db-1.2") ?? { address: "", port: 0 };
        assert.equal(
          await (await fetch(`http://${address}:${port}/`)).text(),
          "db-1",
          "to itself it is db-1 still",
        );
      },
    );

    test(
      "a remedy changes the pods: preStop sleep, environment, command and grace period",
      limit,
      async (context) => {
        const observed = observe(context, network, workload(node(ignoresTerm)), {
          adjustments: {
            preStopSleepSeconds: 3,
            env: { HOSTNAME: "changed $(PORT) $$" },
            commandPrefix: ["env", "MORE=1"],
            graceSeconds: 6,
          },
        });
        await observed.stage.ready();
        const { address, port } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
        assert.equal(await (await fetch(`http://${address}:${port}/`)).text(), "changed $(PORT) $$");
        await observed.stage.deletePod("web-1");
        assert.equal((await observed.first("pre-stop-ended", "web-1")).result, "done");
        const signalled = await observed.first("signalled", "web-1");
        const killed = await observed.first("killed", "web-1");
        const left = killed.at - signalled.at;
        // Three seconds are left, and six where the hook's do not count; a busy machine is late.
        assert.ok(left >= 2_980 && left < 5_500, `the hook's seconds are off the grace period: ${left} ms`);
      },
    );

    test(
      "a pod finds services, its own name and fields in its environment, and nobody listens where the API server should be",
      limit,
      async (context) => {
        const tells = `
          const { createServer } = require("node:http");
          const { connect } = require("node:net");
          createServer((request, response) => {
            const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
            connect({ host, port }).on("error", ({ code }) => response.end(JSON.stringify({ code, env: process.env })));
          }).listen(Number(process.env.PORT), process.env.HOST);`;
        const command = [process.execPath, "-e", tells, "$(KUBERNETES_PORT)"];
        const observed = observe(context, network, workload(command), {
          env: { ...process.env, KUBERNETES_SERVICE_HOST: "192.0.2.1", OWN: "image's" },
          adjustments: { env: { ADDED: "by the remedy" }, overrides: { ADDED: "by the user", OWN: "" } },
        });
        await observed.stage.ready();
        const { address, port } = observed.endpoints.get("web-1") ?? { address: "", port: 0 };
        const said = (await (await fetch(`http://${address}:${port}/`)).json()) as {
          code: string;
          env: Record<string, string>;
        };
        assert.equal(said.code, "ECONNREFUSED");
        const { env } = said;
        const api = `tcp://${env["KUBERNETES_SERVICE_HOST"]}:${env["KUBERNETES_SERVICE_PORT"]}`;
        assert.equal(env["KUBERNETES_PORT"], api);
        assert.notEqual(env["KUBERNETES_SERVICE_HOST"], "192.0.2.1", "a real cluster's is out of reach");
        assert.deepEqual(
          [env["HOSTNAME"], env["POD_NAME"], env["POD_NAMESPACE"], env["POD_IP"]],
          ["web-1", "web-1", "default", address],
        );
        assert.deepEqual([env["ADDED"], env["OWN"]], ["by the user", ""]);
      },
    );

    test("the senders have addresses of their own, the same for the same name", limit, async () => {
      const [one, again, two] = await Promise.all(
        ["one", "one", "two"].map((name) => network.senderAddress(name)),
      );
      assert.equal(one, again);
      assert.notEqual(one, two);
      const server = (await import("node:net")).createServer((socket) =>
        socket.end(socket.remoteAddress ?? ""),
      );
      await new Promise<void>((resolve) => server.listen(0, network.nodeAddress, resolve));
      const { port } = server.address() as AddressInfo;
      const seen = await new Promise<string>((resolve, reject) => {
        const socket = connect({ host: network.nodeAddress, port, localAddress: one ?? "" });
        socket.on("data", (data) => resolve(data.toString()));
        socket.on("error", reject);
      });
      server.close();
      assert.equal(seen, one);
    });

    test(
      "a program that is not Node runs from a manifest: python3 -m http.server",
      withPython,
      async (context) => {
        const made = readManifest(
          `kind: Deployment
metadata: { name: files }
spec:
  replicas: 2
  template:
    metadata: { labels: { app: files } }
    spec:
      terminationGracePeriodSeconds: 2
      containers:
        - name: python
          command: [python3, -m, http.server]
          args: [--bind, $(BIND), $(AT)]
          env: [{ name: BIND, valueFrom: { fieldRef: { fieldPath: status.podIP } } }, { name: AT, value: "8000" }]
          ports: [{ containerPort: 8000 }]
          readinessProbe: { httpGet: { port: 8000, path: / }, periodSeconds: 1 }
`,
          "files.yaml",
        );
        const observed = observe(context, network, made);
        await observed.stage.ready();
        await observed.stage.rollout();
        assert.deepEqual(names(observed.stage.pods), ["files-3", "files-4"]);
      },
    );

    if (network.kind !== "shared loopback") {
      test("a container cannot take away the machine's devices", limit, async (context) => {
        const greedy = ["sh", "-c", `rm -f /dev/null /dev/zero; exec "$@"`, "sh", ...node(closesAtTerm)];
        const observed = observe(context, network, workload(greedy));
        await observed.stage.ready();
        assert.ok(statSync("/dev/null").isCharacterDevice());
      });
    } else {
      test("a hard-coded port of a Node program is moved", limit, async (context) => {
        const fixed = `require("node:http").createServer((_, response) => response.end("here")).listen(8080, "0.0.0.0");`;
        const moved = observe(context, network, workload([process.execPath, "-e", fixed], { replicas: 2 }));
        await moved.stage.ready();
        for (const { address, port } of moved.endpoints.values())
          assert.equal(await (await fetch(`http://${address}:${port}/`)).text(), "here");
      });

      test("a hard-coded port of another program collides, with a code", withPython, async (context) => {
        const stubborn = ["python3", "-m", "http.server", "18080"];
        const made = workload(stubborn, {
          replicas: 2,
          container: { ports: [{ port: 18_080 }] },
          pod: { port: 18_080 },
        });
        const collides = observe(context, network, made);
        await assert.rejects(collides.stage.ready(), { code: "LAMEDUCK_PORT_COLLISION" });
      });
    }

    test("a stage that is aborted says no more and takes everything away", limit, async (context) => {
      const abort = new AbortController();
      const observed = observe(context, network, workload(node(ignoresTerm), { replicas: 2 }), {
        signal: abort.signal,
      });
      await observed.stage.ready();
      const rolling = observed.stage.rollout();
      await observed.first("deleted");
      abort.abort();
      await assert.rejects(rolling, { code: "LAMEDUCK_STAGE_STOPPED" });
      const before = observed.events.length;
      await observed.stage.stop();
      assert.equal(observed.events.length, before);
      for (const { address, port } of observed.endpoints.values())
        await assert.rejects(fetch(`http://${address}:${port}/`, { signal: AbortSignal.timeout(500) }));
    });
  });
}
