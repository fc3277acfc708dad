import assert from "node:assert/strict";
import { test } from "node:test";
import { endAnnotation, endAnnotationValue } from "@lameduck/protocol";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf } from "./fixture.ts";

test("an annotation on a terminating pod ends its hold, also where the pod's request waits already", async () => {
  const uids = new Map<string, string>();
  await using all = await coordinating((scene) => {
    scene.node("node1");
    for (const [name, address] of [
      ["web-1", "127.0.0.5"],
      ["web-2", "127.0.0.6"],
    ] as const)
      uids.set(name, scene.pod(name, address));
  });
  const { api, scene, coordinator } = all;
  const ask = async (name: string, query: string): Promise<Readonly<Record<string, string>>> => {
    const path = `/v1/pods/shop/${name}?uid=${uids.get(name)}${query}`;
    return fieldsOf((await all.ask({ path, from: name === "web-1" ? "127.0.0.5" : "127.0.0.6" })).text);
  };
  const annotate = (name: string, value: string): unknown =>
    api.change("pods", name, { metadata: { annotations: { [endAnnotation]: value } } });
  for (const name of uids.keys()) scene.terminate(name);
  await until(() => coordinator.terminations.size === 2, "the deletions");
  const first = await ask("web-1", "");
  assert.deepEqual([first["state"], first["end"]], ["waiting", undefined]);

  const waiting = [ask("web-1", "&wait=20&seen=waiting"), ask("web-2", "&wait=20&seen=waiting")] as const;
  await until(() => coordinator.parked === 2, "the waiting requests");
  annotate("web-2", "later");
  annotate("web-1", endAnnotationValue);
  const told = await waiting[0];
  assert.deepEqual([told["state"], told["end"]], ["waiting", "now"]);
  assert.equal(coordinator.parked, 1, "the other pod still waits: its annotation asks for nothing");

  // A pod that does not know the key asks again: once a second, not without a pause. So does one that has lost the answer.
  const asked = performance.now();
  const again = await ask("web-1", "&wait=20&seen=waiting");
  const took = performance.now() - asked;
  assert.equal(again["end"], "now");
  assert.ok(took > 500 && took < 15_000, `${took} ms`);

  annotate("web-2", endAnnotationValue);
  assert.equal((await waiting[1])["end"], "now");
  assert.equal((await ask("web-2", ""))["end"], "now");
});
