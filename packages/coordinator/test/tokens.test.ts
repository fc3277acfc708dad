import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import type { KubernetesClient } from "@lameduck/kube";
import { Tokens } from "../src/tokens.ts";

test("the API server is not asked about all made-up tokens that come at once, and a token from another address does not wait for them", async () => {
  const counts = { reviews: 0, left: 2_000 };
  const answered: (() => void)[] = [];
  const post = async (_path: string, { spec: { token } }: { spec: { token: string } }): Promise<unknown> => {
    counts.reviews++;
    if (token === "good")
      return {
        status: {
          authenticated: true,
          audiences: ["lameduck"],
          user: { username: "system:serviceaccount:a:b" },
        },
      };
    await new Promise<void>((resolve) => answered.push(resolve));
    return { status: { authenticated: false } };
  };
  const client = { post } as unknown as KubernetesClient;
  const tokens = new Tokens(client, { now: Date.now, onReview: () => undefined });
  const flood = Array.from({ length: counts.left }, (_, at) =>
    tokens.identityOf(`made-up-${at}`, "10.0.0.7").finally(() => counts.left--),
  );
  assert.equal((await tokens.identityOf("good", "10.0.0.8"))?.account, "a/b");
  assert.ok(counts.left > 0 && counts.left <= 208, `${counts.left} of them wait`);
  while (counts.left > 0) {
    answered.splice(0).forEach((answer) => answer());
    await setImmediate();
  }
  assert.deepEqual(new Set(await Promise.all(flood)), new Set([undefined]));
  assert.ok(counts.reviews < 40, `${counts.reviews} reviews`);
});
