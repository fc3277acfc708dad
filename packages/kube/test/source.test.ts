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
function follow(api: ApiServer, clock: { readonly now?: () => number } = {}): Following {
  const client = api.client();
  const changes: Change<KubernetesObject>[] = [];
  const source = new Source(client, {
    name: "pods",
    path: "/api/v1/pods",
    onChange: (change) => changes.push(change),
    onProblem: () => undefined,
    refusalMs: 0,
    againMs: 10,
    ...clock,
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

test("a source whose API server answers with errors for long may be outdated, until it is read again", async () => {
  await using api = await ApiServer.start();
  let now = 0;
  await using following = follow(api, { now: () => now });
  const { source } = following;
  await until(() => source.state === "synced" && api.watching > 0, "a watch");
  api.fails = true;
  api.cut();
  await until(() => api.watching === 0, "the end of the watch");
  now = 80_000;
  assert.equal(source.state, "synced", "old knowledge is better than none");
  now = 100_000;
  assert.equal(source.state, "unheard");
  api.fails = false;
  await until(() => api.watching > 0, "another watch");
  api.bookmark();
  await until(() => source.state === "synced", "a sign");
});

test("a collection is followed where it is served now, and is absent without a request while it is served nowhere", async () => {
  await using api = await ApiServer.start();
  const client = api.client();
  let place: string | undefined;
  let looks = 0;
  const source = new Source(client, {
    name: "proxies",
    path: "/apis/other.example/v1/proxies",
    onChange: () => undefined,
    onProblem: () => undefined,
    locate: () => (looks++, Promise.resolve(place)),
    locateAgainMs: 10,
  });
  assert.equal(source.resource, "proxies.other.example");
  source.start();
  await until(() => looks > 2, "it is looked for again");
  assert.deepEqual([source.state, api.watching], ["absent", 0]);
  place = "/api/v1/pods";
  await until(() => source.state === "synced" && api.watching > 0, "it is followed");
  await source.stop();
  client.close();
});
