import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesClient } from "@lameduck/kube";
import { Registry } from "@prometheus-io/client";
import type { TerminationListener } from "../src/termination-view.ts";
import type { DrainReport } from "../src/index.ts";
import { Records } from "../src/records/records.ts";
import { defaultRetention } from "../src/records/writing/retention.ts";
import { coordinating } from "./fixture.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

const reportsIn = (api: OperatorApi): DrainReport[] =>
  api.items("lameduck.dev/drainreports") as unknown as DrainReport[];

const clients: KubernetesClient[] = [];

function keeping(api: OperatorApi, name: string): Records {
  const client = api.client();
  clients.push(client);
  return new Records(client, {
    namespace: "lameduck-system",
    name,
    registry: new Registry(),
    retention: defaultRetention,
    onProblem: (part, error) => assert.fail(`${part}: ${String(error)}`),
  });
}

test("a pod that a real coordinator releases, and that reports its end, has a report of its termination", async () => {
  const written = await OperatorApi.start();
  const [first, second] = [keeping(written, "one"), keeping(written, "two")];
  first.start();
  await until(() => first.isLeader, "the lease");
  second.start();
  const listeners: TerminationListener[] = [first.hear, second.hear];
  {
    await using all = await coordinating(
      (scene) => {
        for (const node of ["node1", "node2"]) scene.node(node);
      },
      { listeners },
    );
    const { scene, ask, follow } = all;
    for (const node of ["node1", "node2"]) await follow(node);
    const uid = scene.pod("web-1");
    const path = `/v1/pods/shop/web-1?uid=${uid}`;
    scene.terminate("web-1");
    await until(() => all.coordinator.status().terminating === 1, "its termination");
    scene.withdraw("web-1");
    while (all.coordinator.status().released < 1) {
      for (const node of ["node1", "node2"]) await follow(node);
      await pause(20);
    }
    for (const lines of ["phase: lame-duck", "phase: closing\nreason: acknowledged\nheld-ms: 1500"]) {
      const body = `${lines}\nprogram: init\nconnections: 3\n`;
      assert.equal((await ask({ method: "POST", path, body })).status, 200);
    }
    scene.gone("web-1");
    await until(() => reportsIn(written).length === 1, "its report");
  }
  const [report] = reportsIn(written);
  assert.deepEqual(
    [report?.summary.hold, report?.summary.reason, report?.program, report?.summary.atRisk],
    ["1.5s", "acknowledged", "init", "3 conn"],
  );
  assert.ok(report?.moments.released !== undefined && report.moments.closing !== undefined);
  assert.deepEqual(report?.consumers.map(({ name, state }) => `${name} ${state}`).sort(), [
    "kube-proxy/node1 applied",
    "kube-proxy/node2 applied",
  ]);
  assert.match(report?.unknown.join() ?? "", /^containers: the pod was gone before its exit was seen$/);
  await first.stop();
  await until(() => second.isLeader, "the successor");
  await second.stop();
  for (const client of clients) client.close();
  await written.stop();
});
