import assert from "node:assert/strict";
import { test } from "node:test";
import { keepLeadingRoute } from "../../src/coordinator/state/leading.ts";
import { Routing } from "../../src/coordinator/state/routing.ts";
import { gatewayRoutes, inVersion } from "../../src/exposure/objects.ts";
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
  assert.deepEqual(all.coordinator.status().unread, [{ name: "tcproutes (v1alpha2)", state: "refused" }]);
});

test("routes of all kinds and versions lead to a pod, and one version's end takes nothing from the other", () => {
  const routing = new Routing();
  const gateway = { metadata: { name: "edge", namespace: "shop", uid: "g" }, gatewayClass: "envoy" };
  const change = { type: "there", at: 0, live: true, since: 0 } as const;
  routing.gateway({ ...change, object: gateway });
  const spec = { parentRefs: [{ name: "edge" }], rules: [{ backendRefs: [{ name: "web" }] }] };
  const route = { metadata: { name: "r", namespace: "shop", uid: "r" }, spec };
  assert.deepEqual(gatewayRoutes.map(({ kind, version }) => `${kind} ${version}`).slice(2), [
    "TLSRoute v1alpha2",
    "TLSRoute v1",
    "TCPRoute v1alpha2",
    "UDPRoute v1alpha2",
  ]);
  const [old, newer] = ["v1alpha2", "v1"].map((version) =>
    inVersion(version, keepLeadingRoute("TLSRoute")(route)),
  );
  assert.ok(old && newer);
  for (const object of [old, newer]) routing.route({ ...change, object });
  routing.route({ ...change, type: "gone", object: old });
  assert.deepEqual(routing.of(["shop/web"]).needs, ["gateway-class/envoy"]);
  routing.route({ ...change, type: "gone", object: newer });
  assert.deepEqual(routing.of(["shop/web"]).needs, []);
});
