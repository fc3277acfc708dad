import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { run, type Ended } from "./running.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-audit-"));
after(() => rmSync(folder, { recursive: true }));
const audit = (...args: string[]): Promise<Ended> => run(["audit", ...args], { cwd: folder });

describe("audit of a cluster", () => {
  const requests: string[] = [];
  let server: Server;
  const items: Readonly<Record<string, unknown>> = {
    "/api/v1/namespaces/shop": { metadata: { name: "shop" } },
    "/apis": {
      groups: ["apps", "networking.k8s.io", "gateway.networking.k8s.io", "policy"].map((name) => ({ name })),
    },
    "/version": { major: "1", minor: "29+" },
    "/apis/apps/v1/namespaces/shop/deployments?limit=500": {
      items: [workload("web")],
      metadata: { continue: "a&b" },
    },
    "/apis/apps/v1/namespaces/shop/deployments?limit=500&continue=a%26b": {
      items: [workload("api")],
      metadata: {},
    },
    "/api/v1/namespaces/shop/services?limit=500": {
      items: [
        {
          metadata: { name: "web", namespace: "shop" },
          spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
        },
      ],
    },
  };

  function workload(name: string): unknown {
    const containers = [{ name: "main", image: "x", ports: [{ containerPort: 80 }] }];
    const template = {
      metadata: { labels: { app: name } },
      spec: { containers, terminationGracePeriodSeconds: 30 },
    };
    return {
      metadata: { name, namespace: "shop", managedFields: [{}] },
      spec: { replicas: 2, template },
      status: { replicas: 1 },
    };
  }

  after(() => server.close());

  test("the audit of a cluster reads in pages; what is not installed is not there, what is not permitted is said", async () => {
    server = createServer(({ url = "" }, response) => {
      requests.push(url);
      const forbidden = /ingresses|poddisruptionbudgets|rollouts/.test(url);
      const known = items[url];
      response.writeHead(forbidden ? 403 : known ? 200 : 404, { "content-type": "application/json" });
      const status = {
        kind: "Status",
        message: forbidden ? "ingresses is forbidden" : "not found",
        code: forbidden ? 403 : 404,
      };
      response.end(JSON.stringify(known ?? status));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as AddressInfo;
    writeFileSync(
      join(folder, "kubeconfig"),
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "c", user: "u", namespace: "shop" } }],
        clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
        users: [{ name: "u", user: {} }],
      }),
    );
    const { code, out, err } = await audit("--kubeconfig", "kubeconfig");
    assert.equal(code, 1, err);
    // Whether there is a budget is not known, and kinds that are not installed are not asked for.
    assert.doesNotMatch(out, /there is no PodDisruptionBudget/);
    assert.doesNotMatch(err, /Rollout/);
    assert.match(
      out,
      /^Deployment shop\/web: spec\.template\.spec\.containers\[0\]\.name: warning: there is no preStop hook/m,
    );
    assert.match(out, /Deployment shop\/api/);
    for (const route of ["v1/http", "v1/grpc", "v1alpha2/tls", "v1alpha2/tcp", "v1alpha2/udp"]) {
      const [version = "", protocol = ""] = route.split("/");
      const path = `/apis/gateway.networking.k8s.io/${version}/namespaces/shop/${protocol}routes?limit=500`;
      assert.ok(requests.includes(path), path);
    }
    // A class is of no namespace.
    assert.ok(requests.includes("/apis/networking.k8s.io/v1/ingressclasses?limit=500"));
    // The native sleep came with 1.30.
    assert.doesNotMatch(out, /fix: preStop/);
    assert.match(err, /networking\.k8s\.io\/Ingress.*\[LAMEDUCK_AUDIT_NOT_PERMITTED\]/);
    const nowhere = await audit("-n", "nowhere", "--kubeconfig", "kubeconfig");
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.err, /nowhere: there is no such namespace \[LAMEDUCK_AUDIT_NO_NAMESPACE\]/);
    requests.splice(requests.indexOf("/api/v1/namespaces/nowhere"));
    assert.ok(requests.every((url) => !url.includes("pods") || url.includes("/namespaces/shop/")));
  });
});
