import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../operator-api.ts";
import { coordinating } from "./fixture.ts";

const account = "lameduck-node/lameduck-watcher";

test("an account that is bound to kinds speaks as no other, and for its node alone", async () => {
  const flags = [`--consumer-account=${account}=kube-proxy`];
  await using all = await coordinating((scene) => scene.node("node1"), { flags });
  const said = { version: 1, node: "node1", basis: "rules", epoch: null, applied: 0, known: 0, wait: 0 };
  const post = (name: string, fields: object): Promise<{ status: number; text: string }> =>
    all.ask({
      method: "POST",
      path: `/v1/consumers/${encodeURIComponent(name)}`,
      token: "token-node1",
      body: JSON.stringify({ ...said, ...fields }),
    });
  assert.equal((await post("kube-proxy/node1", { kind: "kube-proxy" })).status, 200);
  assert.match((await post("nginx/edge-1", { kind: "nginx" })).text, /may report as kube-proxy only/);
  const serves = ["node", "ingress-class/nginx"];
  assert.match((await post("kube-proxy/node1", { kind: "kube-proxy", serves })).text, /serves its node only/);
});

test("a list that is refused is named by the status", async () => {
  await using all = await coordinating((scene) => {
    scene.api.fault = ({ resource }) =>
      resource === "gateway.networking.k8s.io/tcproutes"
        ? { status: 403, body: { reason: "Forbidden", message: "no" } }
        : undefined;
  });
  await until(() => all.coordinator.status().unread?.length === 1, "the refusal");
  assert.deepEqual(all.coordinator.status().unread, [{ name: "tcproutes", state: "refused" }]);
});
