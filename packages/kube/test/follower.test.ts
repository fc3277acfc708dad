import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Follower, type Change } from "@lameduck/kube";
import { ApiServer } from "./api-server.ts";

interface Thing {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion?: string };
  readonly value?: number;
}

interface Following {
  readonly follower: Follower<Thing>;
  readonly changes: Change<Thing>[];
  readonly failures: Error[];
  /** The names and what happened, in order. */
  readonly told: () => string[];
}

const path = "/api/v1/namespaces/shop/pods";

async function follow(api: ApiServer, renewal = 30, refusal = 30_000): Promise<Following & AsyncDisposable> {
  const client = api.client();
  const changes: Change<Thing>[] = [];
  const failures: Error[] = [];
  const follower = new Follower<Thing>(client, {
    path,
    query: { labelSelector: "app=web" },
    onChange: (change) => changes.push(change),
    onFailure: (error) => failures.push(error),
    renewalSeconds: renewal,
    refusalMs: refusal,
  });
  await follower.start();
  return {
    follower,
    changes,
    failures,
    told: () => changes.map(({ type, object }) => `${type} ${object.metadata.name}`),
    [Symbol.asyncDispose]: async () => {
      await follower.stop();
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

test("a follower tells what is there, and every change in the order in which it was made", async () => {
  await using api = await ApiServer.start();
  api.put("a");
  await using following = await follow(api);
  await until(() => api.watching === 1, "a watch");
  api.put("b");
  api.put("a", { value: 2 });
  api.remove("b");
  await until(() => following.changes.length === 4, "four changes");
  assert.deepEqual(following.told(), ["there a", "there b", "there a", "gone b"]);
  assert.deepEqual(
    following.changes.map(({ live }) => live),
    [false, true, true, true],
  );
  assert.equal(api.requests[0]?.searchParams.get("labelSelector"), "app=web");
  assert.deepEqual(following.follower.counts, { interrupted: 0, expired: 0, lists: 0, bookmarks: 0 });
});

test("a follower lists by pages", async () => {
  await using api = await ApiServer.start();
  for (let index = 0; index < 1_201; index++) api.put(`pod-${index}`);
  await using following = await follow(api);
  assert.equal(following.follower.objects.length, 1_201);
  assert.equal(api.requests.filter(({ searchParams }) => searchParams.has("continue")).length, 2);
});

test("a follower whose connection is cut goes on from a bookmark, without a new list and without telling anything twice", async () => {
  await using api = await ApiServer.start();
  api.put("a");
  await using following = await follow(api);
  await until(() => api.watching === 1, "a watch");
  api.put("b");
  await until(() => following.changes.length === 2, "b");
  api.elsewhere();
  api.bookmark();
  await until(() => following.follower.counts.bookmarks === 1, "the bookmark");
  // Everything before the bookmark may be forgotten now.
  api.compact();
  api.cut();
  api.put("c");
  await until(() => following.changes.length === 3, "c");
  assert.deepEqual(following.told(), ["there a", "there b", "there c"]);
  const { interrupted, expired, lists } = following.follower.counts;
  assert.ok(interrupted >= 1);
  assert.deepEqual([expired, lists], [0, 0]);
});

test("a follower lists anew after 410, and tells only what is different, with the time since which it may be so", async () => {
  await using api = await ApiServer.start();
  api.put("a");
  api.put("b");
  await using following = await follow(api);
  await until(() => api.watching === 1, "a watch");
  const before = Date.now();
  api.expire();
  api.remove("a");
  api.put("c");
  await until(() => following.changes.length >= 4, "the differences");
  assert.deepEqual(following.told().slice(2).sort(), ["gone a", "there c"]);
  const [found] = following.changes.slice(2);
  const { expired, lists, interrupted } = following.follower.counts;
  assert.deepEqual([expired, lists, interrupted], [1, 1, 0]);
  assert.ok((found?.since ?? Infinity) <= before, "from the last word of the watch");
  await until(() => api.watching === 1, "a watch again");
  api.expire();
  await until(() => following.follower.counts.lists === 2, "another list");
  assert.equal(following.changes.length, 4, "what is gone is not told twice");
});

test("a follower comes back when the API server has been restarted", async () => {
  await using api = await ApiServer.start();
  api.put("a");
  await using following = await follow(api);
  await until(() => api.watching === 1, "a watch");
  await api.stop();
  api.put("b");
  await delay(300);
  assert.equal(following.failures.length, 0);
  await api.listen();
  await until(() => following.changes.length === 2, "b");
  assert.deepEqual(following.told(), ["there a", "there b"]);
  assert.ok(following.follower.counts.interrupted >= 1);
  assert.equal(following.follower.counts.expired, 0);
});

test("a follower renews a watch whose time is over, and tells no interruption", async () => {
  await using api = await ApiServer.start();
  await using following = await follow(api, 1);
  await until(() => api.requests.length >= 3, "a second watch");
  api.put("a");
  await until(() => following.changes.length === 1, "a");
  assert.deepEqual(following.follower.counts, { interrupted: 0, expired: 0, lists: 0, bookmarks: 0 });
});

test("a follower waits while a restarted API server forbids everything, and believes a refusal that goes on", async () => {
  await using api = await ApiServer.start();
  api.put("a");
  await using following = await follow(api, 30, 400);
  await until(() => api.watching === 1, "a watch");
  api.forbids = true;
  api.cut();
  const before = api.requests.length;
  await until(() => api.requests.length > before, "a refusal");
  api.put("b");
  api.forbids = false;
  await until(() => following.changes.length === 2, "b");
  assert.equal(following.failures.length, 0);
  await until(() => api.watching === 1, "a watch again");
  api.forbids = true;
  api.cut();
  await until(() => following.failures.length === 1, "the failure");
  assert.match(following.failures[0]?.message ?? "", /pods is forbidden/);
});

test("a follower keeps of each object only what it is told to keep", async () => {
  await using api = await ApiServer.start();
  api.put("a", { value: 1, ballast: "x".repeat(1_000) });
  const client = api.client();
  const changes: Change<Thing>[] = [];
  const follower = new Follower<Thing>(client, {
    path,
    keep: ({ metadata, value }) => ({ metadata, ...(value === undefined ? {} : { value }) }),
    onChange: (change) => changes.push(change),
    onFailure: assert.fail,
  });
  await follower.start();
  await until(() => api.watching === 1, "a watch");
  api.put("b", { value: 2, ballast: "x" });
  await until(() => changes.length === 2, "two changes");
  assert.deepEqual(
    [...changes.map(({ object }) => object), ...follower.objects].map((one) => "ballast" in one),
    [false, false, false, false],
  );
  await follower.stop();
  client.close();
});
