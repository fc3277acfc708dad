import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { KubernetesClient, KubernetesError } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import type { Credentials } from "../src/connection/connection.ts";
import { FakeApi, type Fault } from "./fake-api.ts";
import { connectionTo } from "./api-server.ts";
import { certificate } from "../../node/test/certificate.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-client-"));
after(() => rmSync(folder, { recursive: true }));

/** A plugin that notes each of its runs, and how to reach the server with it. */
function withPlugin(server: string, status: string): { client: KubernetesClient; runs: () => number } {
  const name = `plugin-${Math.random()}`;
  const notes = join(folder, `${name}.runs`);
  const program = join(folder, `${name}.sh`);
  writeFileSync(notes, "");
  // What takes a while is where several are started.
  writeFileSync(
    program,
    `#!/bin/sh\necho run >> '${notes}'\nsleep 0.2\nn=$(wc -l < '${notes}' | tr -d ' ')\necho "{\\"kind\\":\\"ExecCredential\\",\\"status\\":${status}}"\n`,
  );
  chmodSync(program, 0o755);
  const kubeconfig = join(folder, `${name}.yaml`);
  writeFileSync(
    kubeconfig,
    `{ current-context: x, clusters: [{ name: c, cluster: { server: "${server}" } }], users: [{ name: u, user: { exec: { apiVersion: v1, command: "${program}" } } }], contexts: [{ name: x, context: { cluster: c, user: u } }] }`,
  );
  return {
    client: new KubernetesClient(clusterConnection({ kubeconfig })),
    runs: () => readFileSync(notes, "utf8").split("\n").length - 1,
  };
}

const numbered = String.raw`{\"token\":\"token-$n\"}`;
const path = "/api/v1/namespaces/shop/pods";

test("a credential plugin runs once for all requests that wait for it, and not again while its credentials are valid", async () => {
  await using api = await FakeApi.start();
  const { client, runs } = withPlugin(api.url, numbered);
  await Promise.all(Array.from({ length: 20 }, () => client.get(path)));
  await client.get(path);
  assert.equal(runs(), 1);
  client.close();
});

test("credentials that have expired by a clock that is wrong are used all the same", async () => {
  await using api = await FakeApi.start();
  for (const expires of ["2020-01-01T00:00:00Z", "soon"]) {
    const { client, runs } = withPlugin(
      api.url,
      String.raw`{\"token\":\"t\",\"expirationTimestamp\":\"${expires}\"}`,
    );
    for (let asked = 0; asked < 3; asked++) await client.get(path);
    assert.equal(runs(), 1, expires);
    client.close();
  }
});

/** Accepts only this token. */
function accepting(token: string): FakeApi["fault"] {
  return ({ headers }) =>
    headers.authorization === `Bearer ${token}`
      ? undefined
      : { status: 401, body: { reason: "Unauthorized", message: "Unauthorized" } };
}

test("a 401 asks the credential plugin again, once for all requests that were refused, also where it gave no expiry", async () => {
  await using api = await FakeApi.start();
  const { client, runs } = withPlugin(api.url, numbered);
  api.fault = accepting("token-1");
  await client.get(path);
  api.fault = accepting("token-2");
  await Promise.all(Array.from({ length: 20 }, () => client.get(path)));
  assert.equal(runs(), 2);
  api.fault = accepting("none");
  for (let asked = 0; asked < 5; asked++)
    await assert.rejects(client.get(path), { code: "LAMEDUCK_CREDENTIALS_FAILED" });
  assert.equal(runs(), 3, "what was refused when it had just been issued is not asked for again at once");
  client.close();
});

test("credentials that did not change after a 401 are not sent a second time", async () => {
  await using api = await FakeApi.start();
  api.fault = accepting("other");
  const client = new KubernetesClient({
    ...connectionTo(api.url),
    credentials: () => Promise.resolve({ authorization: "Bearer own", expires: Infinity }),
  });
  await assert.rejects(client.get(path), { code: "LAMEDUCK_CREDENTIALS_FAILED" });
  assert.equal(api.asked.length, 1);
  client.close();
});

test("a watch outlives a change of the certificate, and new requests show the new one", async (t) => {
  const shown: boolean[] = [];
  const server = createServer(
    { ...certificate(), requestCert: true, rejectUnauthorized: false },
    (request, response) => {
      shown.push(Object.keys((request.socket as TLSSocket).getPeerCertificate()).length > 0);
      if (request.url === "/watch") response.write("{}\n");
      else response.end("{}");
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const own: Credentials = { ...certificate(), expires: 0 };
  let issued = 0;
  const client = new KubernetesClient({
    ...connectionTo(`https://127.0.0.1:${(server.address() as AddressInfo).port}`),
    insecure: true,
    credentials: () => Promise.resolve(issued++ === 0 ? { expires: 0 } : own),
  });
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const watch = await client.stream("/watch", new AbortController().signal);
  let cut = false;
  watch
    .on("error", () => (cut = true))
    .on("close", () => (cut = true))
    .resume();
  await client.get("/before");
  t.mock.timers.tick(120_000);
  await client.get("/after");
  await client.get("/again");
  assert.deepEqual(shown, [false, false, true, true]);
  assert.equal(cut, false);
  client.close();
});

for (const fault of ["stallAt", "cutAt"] as const)
  test(`an answer that ${fault === "stallAt" ? "stalls" : "is cut"} at any of its bytes is a failure with a code`, async () => {
    await using api = await FakeApi.start();
    api.put("pods", "web-1", { note: "x".repeat(100) });
    api.fault = ({ url }) => ({ [fault]: Number(url.searchParams.get("at")) }) as unknown as Fault;
    const client = api.client(1_000);
    const codeAt = async (at: number): Promise<string> => {
      try {
        await client.get(`${path}?at=${at}`);
        return "";
      } catch (error) {
        return error instanceof KubernetesError ? error.code : String(error);
      }
    };
    // Until an answer comes whole.
    const codes: string[] = [];
    for (let from = 0; codes.at(-1) !== ""; from += 50)
      codes.push(...(await Promise.all(Array.from({ length: 50 }, (_, at) => codeAt(from + at)))));
    const whole = codes.indexOf("");
    assert.ok(whole > 200, "head and body are cut");
    assert.deepEqual(new Set(codes.slice(0, whole)), new Set(["LAMEDUCK_API_UNREACHABLE"]));
    client.close();
  });

test("an answer that no API server gives is a failure with a code", async () => {
  await using api = await FakeApi.start();
  const lies: Fault[] = [
    { status: 200, body: "<html>Welcome</html>" },
    { status: 200, body: "" },
    { status: 200, body: "null" },
    { status: 200, body: "[]extra" },
    { status: 200, body: { kind: "Status", status: "Failure", code: 500, message: "etcd is away" } },
    { status: 500, body: "<html>" },
    { status: 302, body: "" },
  ];
  for (const lie of lies) {
    const client = api.client();
    api.fault = () => lie;
    await assert.rejects(client.get(path), { code: "LAMEDUCK_API_REFUSED" }, JSON.stringify(lie));
    client.close();
  }
});
