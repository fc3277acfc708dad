import assert from "node:assert/strict";
import test from "node:test";
import { initVolumeFiles, InitVolumeSource } from "../src/index.ts";
import { NeededArchitectures } from "../src/init-volume/files.ts";
import { InitVolumeCopier, type InitVolumeNews } from "../src/init-volume/copier.ts";
import { OperatorApi } from "../../cluster/test/operator-api.ts";

interface Copying extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly enabled: Set<string>;
  readonly writes: string[];
  readonly problems: unknown[];
  readonly news: InitVolumeNews[];
  readonly copier: InitVolumeCopier;
  /** Another replica that believes to lead. */
  readonly other: InitVolumeCopier;
}

const name = "lameduck-init";

async function copying(): Promise<Copying> {
  const api = await OperatorApi.start();
  const client = api.client();
  const enabled = new Set(["shop"]);
  const writes: string[] = [];
  const problems: unknown[] = [];
  const news: InitVolumeNews[] = [];
  const copier = (): InitVolumeCopier =>
    new InitVolumeCopier(client, {
      files: () => ({ binaryData: { "lameduck-init-amd64": "YQ==" }, sum: "sum-1" }),
      onNews: (one) => news.push(one),
      enabled: () => enabled,
      isLeader: () => true,
      onWrite: (action, namespace) => writes.push(`${action} ${namespace}`),
      onProblem: (error) => problems.push(error),
    });
  return {
    api,
    enabled,
    writes,
    problems,
    news,
    copier: copier(),
    other: copier(),
    [Symbol.asyncDispose]: async () => {
      client.close();
      await api.stop();
    },
  };
}

const mounting = (phase: string): { spec: object; status: object } => ({
  spec: { volumes: [{ configMap: { name } }] },
  status: { phase },
});

test("an init volume is written only where it is missing or differs, also by two replicas at once", async () => {
  await using all = await copying();
  const { api, copier, other, writes } = all;
  await Promise.all([copier.reconcile(), other.reconcile()]);
  assert.deepEqual((api.get("configmaps", name) as { binaryData?: object } | undefined)?.binaryData, {
    "lameduck-init-amd64": "YQ==",
  });
  const { length } = writes;
  await copier.reconcile();
  await other.reconcile();
  assert.equal(writes.length, length, "nothing to write");
  api.change("configmaps", name, { metadata: { annotations: { "lameduck.dev/init-volume-sum": "old" } } });
  await copier.reconcile();
  assert.equal(writes.length, length + 1, "an older one");
  api.remove("configmaps", name);
  await copier.reconcile();
  assert.notEqual(api.get("configmaps", name), undefined, "one that somebody removed");
});

test("an init volume is removed after the last pod that mounts it, and a ConfigMap of somebody else is never removed", async () => {
  await using all = await copying();
  const { api, copier, enabled, writes, problems } = all;
  await copier.reconcile();
  api.put("pods", "web", mounting("Running"));
  enabled.clear();
  await copier.reconcile();
  assert.notEqual(api.get("configmaps", name), undefined, "mounted");
  api.change("pods", "web", { status: { phase: "Succeeded" } });
  await copier.reconcile();
  assert.equal(api.get("configmaps", name), undefined);
  assert.deepEqual(writes, ["applied shop", "removed shop"]);
  api.put("configmaps", name, { metadata: { namespace: "shop" } });
  await copier.reconcile();
  assert.notEqual(api.get("configmaps", name), undefined, "a person's own");
  assert.deepEqual(problems, []);
});

test("a ConfigMap that somebody else gave the name of an init volume stays as it is, and is told", async () => {
  await using all = await copying();
  const { api, copier, enabled, writes, problems } = all;
  api.put("configmaps", name, { metadata: { namespace: "shop" }, data: { mine: "1" } });
  await copier.reconcile();
  enabled.clear();
  await copier.reconcile();
  assert.deepEqual((api.get("configmaps", name) as { data?: object } | undefined)?.data, { mine: "1" });
  assert.deepEqual(writes, []);
  assert.match(String(problems[0]), /ConfigMap shop\/lameduck-init: somebody else made it/);
});

test("a namespace that is being deleted is no problem, and a namespace that refuses its init volume is told and keeps no other waiting", async () => {
  await using all = await copying();
  const { api, copier, enabled, writes, problems } = all;
  enabled.add("other");
  const message = "it is being terminated";
  api.fault = ({ method, url }) =>
    method === "PATCH" && url.pathname.includes("/shop/")
      ? { status: 403, body: { reason: "Forbidden", message } }
      : undefined;
  await copier.reconcile();
  assert.deepEqual([writes, problems], [["applied other"], []]);
  api.remove("configmaps", name);
  api.fault = ({ method, url }) =>
    method === "PATCH" && url.pathname.includes("/shop/")
      ? { status: 500, body: { message: "no" } }
      : undefined;
  await copier.reconcile();
  assert.deepEqual([writes.length, problems.length], [2, 1]);
});

test("an init volume that somebody has changed is put right, and the news names who has changed it", async () => {
  await using all = await copying();
  const { api, copier, other, writes, news } = all;
  await copier.reconcile();
  const managedFields = [{ manager: "lameduck-operator" }, { manager: "kubectl-edit", time: "2026-01-01" }];
  api.change("configmaps", name, {
    metadata: { managedFields },
    binaryData: { "lameduck-init-amd64": "AAAA" },
  });
  await copier.reconcile();
  assert.deepEqual(api.get("configmaps", name)?.["binaryData"], { "lameduck-init-amd64": "YQ==" });
  assert.deepEqual(writes, ["applied shop", "mended shop"]);
  assert.equal(news[0]?.reason, "InitVolumeChanged");
  assert.match(news[0].message, /was changed by kubectl-edit, and is as Lameduck wrote it again/);
  // One that has never seen it looks once, and has nothing to tell.
  await other.reconcile();
  assert.deepEqual([writes.length, news.length], [2, 1]);
});

test("keys that somebody has added to an init volume are taken out, and the news tells it", async () => {
  await using all = await copying();
  const { api, copier, writes, news } = all;
  await copier.reconcile();
  api.change("configmaps", name, { binaryData: { more: "AAAA" }, data: { text: "x" } });
  await copier.reconcile();
  const left = api.get("configmaps", name);
  assert.deepEqual([left?.["binaryData"], left?.["data"]], [{ "lameduck-init-amd64": "YQ==" }, {}]);
  assert.deepEqual([writes, news[0]?.reason], [["applied shop", "mended shop"], "InitVolumeChanged"]);
  await copier.reconcile();
  assert.equal(writes.length, 2, "once");
});

test("an init volume that a quota refuses is told in the words of the quota", async () => {
  await using all = await copying();
  const { api, copier, writes, news, problems } = all;
  const message = "exceeded quota: small, requested: count/configmaps=1";
  api.fault = ({ method }) => (method === "PATCH" ? { status: 403, body: { message } } : undefined);
  await copier.reconcile();
  assert.deepEqual([writes, problems.length], [["refused shop"], 1]);
  assert.equal(news[0]?.reason, "InitVolumeRefused");
  assert.match(news[0].message, /hooks of injected pods do nothing: .*exceeded quota: small/);
});

test("an init volume that was made by hand with what pods need is no problem", async () => {
  await using all = await copying();
  const { api, copier, writes, problems } = all;
  const managedFields = [
    { manager: "kubectl", fieldsV1: { "f:binaryData": { "f:lameduck-init-amd64": {} } } },
  ];
  api.put("configmaps", name, { metadata: { namespace: "shop", managedFields } });
  await copier.reconcile();
  assert.deepEqual([writes, problems], [[], []]);
});

test("an init volume has only the binaries for processors of the nodes, and for a processor whose last node has just gone", () => {
  const bytes = (text: string): Buffer => Buffer.from(text);
  const files = ["lameduck-init-amd64", "lameduck-init-arm64", "lameduck-register.cjs"].map(
    (one) => [one, bytes(one)] as const,
  );
  const source = new InitVolumeSource(files);
  const keys = (...needed: Parameters<typeof source.of>): string[] =>
    Object.keys(source.of(...needed).binaryData);
  assert.deepEqual(keys(["amd64"]), ["lameduck-init-amd64", "lameduck-register.cjs"]);
  assert.deepEqual(source.of(undefined), initVolumeFiles(files), "nobody knows the nodes");
  assert.notEqual(source.of(["arm64"]).sum, source.of(["amd64"]).sum);
  const needed = new NeededArchitectures();
  assert.deepEqual(needed.of(["amd64", "arm64"], 0), ["amd64", "arm64"]);
  assert.deepEqual(needed.of(["amd64"], 600_000), ["amd64", "arm64"]);
  assert.deepEqual(needed.of(["amd64"], 4_000_000), ["amd64"]);
  assert.equal(needed.of(undefined, 4_000_000), undefined);
});
