import assert from "node:assert/strict";
import { test } from "node:test";
import { manifestFromCommand } from "../src/index.ts";

test("a command line becomes the workload that a Deployment of it would be", () => {
  const { template, replicas } = manifestFromCommand(["node", "server.js", "$$5"], {
    replicas: 4,
    port: 3000,
    readinessPath: "/up",
  });
  assert.equal(replicas, 4);
  assert.equal(template.port, 3000);
  assert.deepEqual(
    template.containers[0]?.command,
    ["node", "server.js", "$$$$5"],
    "two dollars stay two dollars",
  );
  assert.deepEqual(template.containers[0]?.readiness?.handler, {
    kind: "http",
    scheme: "HTTP",
    port: 3000,
    path: "/up",
    headers: [],
  });
  assert.throws(() => manifestFromCommand([]), { code: "LAMEDUCK_MANIFEST_NO_COMMAND" });
  assert.throws(() => manifestFromCommand(["a"], { port: 0 }), { code: "LAMEDUCK_MANIFEST_INVALID" });
});
