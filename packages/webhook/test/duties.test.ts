import assert from "node:assert/strict";
import test from "node:test";
import { InitVolumeSource } from "../src/index.ts";
import { ClusterView } from "../src/cluster-view.ts";
import { LeaderTasks } from "../src/leader-tasks.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

interface OnDuty extends AsyncDisposable {
  readonly api: OperatorApi;
  readonly duties: LeaderTasks;
  readonly problems: string[];
}

/** What one replica does for all, before an API server that `prepare` fills or breaks. */
async function onDuty(prepare: (api: OperatorApi) => void): Promise<OnDuty> {
  const api = await OperatorApi.start();
  prepare(api);
  const client = api.client();
  const problems: string[] = [];
  const onProblem = (part: string, error: unknown): void => void problems.push(`${part}: ${String(error)}`);
  const view = new ClusterView(client, { retryMs: 20, onProblem, onChange: () => duties.reconcileSoon() });
  const duties = new LeaderTasks({
    client,
    view,
    namespace: "lameduck-system",
    name: "replica",
    files: new InitVolumeSource([]),
    onWrite: () => undefined,
    onProblem,
  });
  view.start();
  duties.start();
  return {
    api,
    duties,
    problems,
    [Symbol.asyncDispose]: async () => {
      await duties.stop();
      await view.stop();
      client.close();
      await api.stop();
    },
  };
}

const accepted = (api: OperatorApi, name: string): unknown =>
  (api.get("lameduck.dev/drainpolicies", name)?.["status"] as { conditions?: unknown[] } | undefined)
    ?.conditions;

test("a DrainPolicy whose status cannot be written does not keep other policies from being told", async () => {
  await using all = await onDuty((api) => {
    for (const name of ["broken", "default"])
      api.put("lameduck.dev/drainpolicies", name, { metadata: { namespace: "shop" }, spec: {} });
    api.fault = ({ method, name }) =>
      method === "PATCH" && name === "broken"
        ? { status: 422, body: { message: "metadata.name" } }
        : undefined;
  });
  await until(() => accepted(all.api, "default") !== undefined, "the second policy is told");
  assert.match(all.problems.join(), /policies: .*metadata\.name/);
});

test("init volumes stay where they are while the webhook may not read which namespaces are injected", async () => {
  let isRefused = true;
  await using all = await onDuty((api) => {
    api.put("namespaces", "shop", { metadata: { labels: { "lameduck.dev/inject": "enabled" } } });
    api.put("configmaps", "lameduck-init", {
      metadata: { namespace: "shop", annotations: { "lameduck.dev/init-volume-sum": "0" } },
    });
    api.fault = ({ resource }) =>
      isRefused && resource === "namespaces" ? { status: 403, body: { message: "no roles yet" } } : undefined;
  });
  const { api, duties, problems } = all;
  await until(() => duties.isLeader && problems.some((one) => one.startsWith("namespaces")), "refused");
  const sum = (): unknown =>
    (api.get("configmaps", "lameduck-init")?.metadata["annotations"] as Record<string, string> | undefined)?.[
      "lameduck.dev/init-volume-sum"
    ];
  const asked = (): number => api.asked.filter(({ resource }) => resource === "namespaces").length;
  const before = asked();
  duties.reconcileSoon();
  await until(() => asked() > before + 5, "some time");
  assert.equal(sum(), "0", "neither removed nor replaced");
  isRefused = false;
  await until(() => sum() !== "0", "replaced");
  assert.ok(!api.asked.some(({ method, resource }) => method === "DELETE" && resource === "configmaps"));
});

test("fifty looks of the leader leave no timer behind", async () => {
  await using all = await onDuty(() => undefined);
  await until(() => all.duties.isLeader, "the lease");
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
  const lists = (): number => all.api.asked.filter(({ resource }) => resource === "configmaps").length;
  const before = timers();
  for (let look = 0; look < 50; look++) {
    const seen = lists();
    all.duties.reconcileSoon();
    await until(() => lists() > seen, "a look");
  }
  assert.ok(timers() < before + 20, `${timers()} timers, ${before} before`);
});
