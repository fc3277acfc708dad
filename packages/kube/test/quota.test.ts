import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Follower } from "@lameduck/kube";
import { ApiServer } from "./api-server.ts";

interface Thing {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion?: string };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 20_000;
  while (!condition()) {
    assert.ok(Date.now() < end, `never: ${what}`);
    await delay(5);
  }
}

test("an object that a full namespace left out is told once there is room, and each list tells which namespaces are full", async () => {
  await using api = await ApiServer.start();
  for (const name of ["a", "b", "c"]) api.put(name);
  const client = api.client();
  const full: string[][] = [];
  const follower = new Follower<Thing>(client, {
    path: "/api/v1/pods",
    onChange: () => undefined,
    onFailure: () => undefined,
    renewalSeconds: 1,
    quota: {
      of: () => "shop",
      sizeOf: () => 1,
      most: 2,
      onFull: () => undefined,
      onListed: (names) => full.push([...names]),
    },
  });
  const names = (): string => follower.objects.map(({ metadata }) => metadata.name).join();
  await follower.start();
  assert.deepEqual([names(), full], ["a,b", [["shop"]]]);
  await until(() => api.watching === 1, "a watch");
  api.remove("a");
  await until(() => names() === "b,c", "the one that was left out");
  assert.deepEqual(full, [["shop"], []]);
  // Nothing is listed anew where nothing is left out.
  await until(
    () => api.requests.filter(({ searchParams }) => searchParams.has("watch")).length > 3,
    "renewals",
  );
  assert.equal(follower.counts.lists, 1);
  api.put("d");
  await until(() => api.requests.length > 6, "a renewal");
  assert.equal(follower.counts.lists, 1, "there is no more room than before");
  api.remove("d");
  await until(() => full.length === 3, "a list once the one that was left out is gone");
  assert.deepEqual(full.at(-1), []);
  await follower.stop();
  client.close();
});
