import assert from "node:assert/strict";
import { test } from "node:test";
import { endAnnotation, endAnnotationValue } from "@lameduck/protocol";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, fieldsOf } from "./fixture.ts";

/** A coordinator, two pods on one node, and how each asks. */
async function twoPods() {
  const addresses = { "web-1": "127.0.0.5", "web-2": "127.0.0.6" };
  const uids = new Map<string, string>();
  const all = await coordinating((scene) => {
    scene.node("node1");
    for (const [name, address] of Object.entries(addresses)) uids.set(name, scene.pod(name, address));
  });
  const ask = async (
    name: keyof typeof addresses,
    query: string,
  ): Promise<Readonly<Record<string, string>>> => {
    const path = `/v1/pods/shop/${name}?uid=${uids.get(name)}${query}`;
    return fieldsOf((await all.ask({ path, from: addresses[name] })).text);
  };
  return { all, ask, uids };
}

test("an annotation on a terminating pod ends its hold, also where the pod's request waits already", async () => {
  const { all: made, ask, uids } = await twoPods();
  await using all = made;
  const { api, scene, coordinator } = all;
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

test("a pod that ends and that nobody deletes is told so a second later, and one whose deletion comes is not", async () => {
  const { all: made, ask } = await twoPods();
  await using all = made;
  const firsts = await Promise.all([ask("web-1", ""), ask("web-2", "")]);
  assert.deepEqual(
    firsts.map(({ state, deleted }) => [state, deleted]),
    [
      ["waiting", undefined],
      ["waiting", undefined],
    ],
    "the deletion may be on its way",
  );
  const deleted = (): number =>
    [...all.coordinator.terminations.values()].filter((one) => !one.isHeldOnly).length;
  // The watch is late for one of them.
  all.scene.terminate("web-2");
  await until(() => deleted() === 1, "the deletion of one");
  const told = await ask("web-1", "&wait=20&seen=waiting");
  assert.deepEqual([told["state"], told["deleted"]], ["waiting", "no"]);
  assert.equal((await ask("web-2", ""))["deleted"], undefined);
  assert.equal((await ask("web-1", ""))["deleted"], "no", "each answer says so");
  const waiting = ask("web-1", "&wait=20&seen=waiting");
  await until(() => all.coordinator.parked === 1, "no second answer at once");
  all.scene.terminate("web-1");
  await until(() => deleted() === 2, "deleted after all");
  assert.equal((await ask("web-1", ""))["deleted"], undefined);
  all.scene.withdraw("web-1");
  void waiting.catch(() => undefined);
});
