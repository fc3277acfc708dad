import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Source, type Change, type KubernetesObject } from "@lameduck/kube";
import { ApiServer } from "./api-server.ts";

interface Following extends AsyncDisposable {
  readonly source: Source<KubernetesObject>;
  readonly changes: Change<KubernetesObject>[];
}

/** Follows pods, and believes refusals at once. */
function follow(api: ApiServer): Following {
  const client = api.client();
  const changes: Change<KubernetesObject>[] = [];
  const source = new Source(client, {
    name: "pods",
    path: "/api/v1/pods",
    onChange: (change) => changes.push(change),
    onProblem: () => undefined,
    refusalMs: 0,
    againMs: 10,
  });
  source.start();
  return {
    source,
    changes,
    [Symbol.asyncDispose]: async () => {
      await source.stop();
      client.close();
    },
  };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < end, `never: ${what}`);
    await delay(5);
  }
}

/** Refuses everything until that is believed. What `meanwhile` changes, only the next list shows. */
async function refused(api: ApiServer, source: Following["source"], meanwhile: () => void): Promise<void> {
  await until(() => api.watching > 0, "a watch");
  api.forbids = true;
  api.cut();
  await until(() => source.state === "refused", "the refusal");
  meanwhile();
  api.forbids = false;
  await until(() => source.state === "synced" && api.watching > 0, "listed and watched again");
}

const named = ({ type, object }: Change<KubernetesObject>): string => `${type} ${object.metadata.uid}`;

test("a source tells after refusals only what has changed meanwhile, in the order of one history", async () => {
  await using api = await ApiServer.start();
  for (const name of ["same", "changed", "gone", "again"]) api.put(name);
  await using following = follow(api);
  const { source, changes } = following;
  await until(() => source.state === "synced", "the first list");
  changes.length = 0;
  await refused(api, source, () => {
    api.put("changed", { value: 2 });
    api.remove("gone");
    api.remove("again");
    api.put("again", {}, "uid-of-another");
    api.put("new");
  });
  assert.deepEqual(changes.map(named), [
    "gone uid-gone",
    "gone uid-again",
    "there uid-changed",
    "there uid-of-another",
    "there uid-new",
  ]);
  assert.ok(changes.every(({ live }) => !live));
  changes.length = 0;
  for (let times = 1; times <= 2; times++) await refused(api, source, () => undefined);
  assert.equal(changes.length, 0);
  assert.equal(source.size, 4);
  api.put("live");
  await until(() => changes.length === 1, "what the watch tells");
  assert.ok(changes.every(({ live }) => live));
});
