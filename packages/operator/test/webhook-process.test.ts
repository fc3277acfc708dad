import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { readInitVolume } from "../../webhook/src/init-volume/files.ts";
import { webhookFlags } from "../../webhook/src/flags.ts";
import { lameduckVersion } from "@lameduck/protocol";
import { bundles, configurations, OperatorApi, until } from "../../cluster/test/operator-api.ts";

const main = join(import.meta.dirname, "..", "src", "main.ts");

test("what is injected names the version of the package", () => {
  const text = readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8");
  assert.equal(lameduckVersion, (JSON.parse(text) as { version: string }).version);
});

test("flags have defaults, and wrong ones are told by name", () => {
  const flags = webhookFlags(["--authority-lifetime", "400d"], { POD_NAME: "p" });
  assert.deepEqual([flags?.port, flags?.name, flags?.authorityLifetime], [8443, "p", 400 * 86_400_000]);
  assert.equal(webhookFlags(["--help"]), undefined);
  for (const [place, ...args] of [
    ["command", "serve"],
    ["command line", "--nothing"],
    ["--port", "--port", "70000"],
    ["--metrics-port", "--metrics-port=-1"],
    ["--log-level", "--log-level", "loud"],
    ["--certificate-lifetime", "--certificate-lifetime", "90"],
    ["--certificate-lifetime", "--certificate-lifetime", "90d", "--authority-lifetime", "1d"],
  ] as const)
    assert.throws(() => webhookFlags(args), {
      code: "LAMEDUCK_OPERATOR_BAD_FLAG",
      place,
    });
});

test("the init volume is every file of a folder, as far as a ConfigMap holds them", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lameduck-init-volume-"));
  await assert.rejects(readInitVolume(join(folder, "none")), { code: "LAMEDUCK_OPERATOR_NO_INIT_VOLUME" });
  await assert.rejects(readInitVolume(folder), /there is no file in it/);
  await writeFile(join(folder, "a"), "one");
  const first = (await readInitVolume(folder)).of(undefined);
  assert.deepEqual(first.binaryData, { a: "b25l" });
  await writeFile(join(folder, "a"), "two");
  assert.notEqual((await readInitVolume(folder)).of(undefined).sum, first.sum);
  await writeFile(join(folder, "b"), Buffer.alloc(1_048_576));
  await assert.rejects(readInitVolume(folder), /are more than the 1048576 of a ConfigMap/);
  await rm(folder, { recursive: true });
});

function ask(port: number, ca: string, body: string): Promise<string> {
  const headers = { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const options = {
      host: "127.0.0.1",
      port,
      ca,
      servername: "lameduck-webhook.ops.svc",
      headers,
      method: "POST",
    };
    httpsRequest({ ...options, path: "/mutate", agent: false, timeout: 10_000 }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    })
      .on("error", reject)
      .end(body);
  });
}

test("the process serves, injects, copies the init volume, and ends with 0 after SIGTERM", async () => {
  await using api = await OperatorApi.start();
  for (const resource of configurations)
    api.put(resource, "lameduck.dev", { webhooks: [{ name: "a", clientConfig: {} }] });
  api.put("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
  api.put("services", "web", { metadata: { namespace: "shop" }, spec: { selector: { app: "web" } } });
  const folder = await mkdtemp(join(tmpdir(), "lameduck-operator-"));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "c", namespace: "ops" } }],
      clusters: [{ name: "c", cluster: { server: api.url } }],
    }),
  );
  await writeFile(join(folder, "lameduck-init-amd64"), "binary");
  const args = ["--port=0", "--metrics-port=0", "--address=127.0.0.1", `--kubeconfig=${kubeconfig}`];
  const child = spawn(process.execPath, [main, "webhook", ...args, `--init-directory=${folder}`], {
    stdio: ["ignore", "ignore", "pipe"],
    // What Services of the namespace would set.
    env: { ...process.env, LAMEDUCK_PORT: "tcp://10.0.0.1:80", LAMEDUCK_WEBHOOK_PORT: "tcp://10.0.0.1:443" },
  });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (log += text));
  try {
    await until(
      () => log.includes('"msg":"listening"') && bundles(api).every((one) => one !== ""),
      `listening: ${log}`,
    );
    const line = log.split("\n").find((one) => one.includes("listening")) ?? "";
    const { port, metricsPort } = JSON.parse(line) as { port: number; metricsPort: number };
    const metrics = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${metricsPort}${path}`);
    const end = Date.now() + 20_000;
    while ((await metrics("/readyz")).status !== 200) assert.ok(Date.now() < end, log);
    const body = JSON.stringify({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      request: {
        uid: "u",
        kind: { group: "", version: "v1", kind: "Pod" },
        operation: "CREATE",
        namespace: "shop",
        object: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "a" }] } },
      },
    });
    assert.match(await ask(port, bundles(api)[0] ?? "", body), /"patchType":"JSONPatch"/);
    assert.match(
      await (await metrics("/metrics")).text(),
      /lameduck_reviews_total\{path="\/mutate",outcome="injected"\} 1/,
    );
    await until(() => api.get("configmaps", "lameduck-init") !== undefined, "the init volume");
    child.kill("SIGTERM");
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0, log);
    const { spec } = api.get("coordination.k8s.io/leases", "lameduck-webhook") as unknown as {
      spec: { holderIdentity: string };
    };
    assert.equal(spec.holderIdentity, "", "another may take over at once");
  } finally {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  }
});
