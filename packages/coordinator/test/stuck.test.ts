import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { NamedState } from "../src/state/consumer.ts";
import { Model } from "./model.ts";

/** A pod whose proxy on node1 has let go, and that an ingress still lists. It has ended by its own evidence. */
function ended(more: Partial<NamedState> = {}, end: (model: Model) => void = (model) => model.podGone("a")) {
  const model = new Model();
  model.node("node1");
  model.ingress(["shop/web"]);
  model.pod("a");
  model.publish("a", true);
  const tell = (applied: number, fields: Partial<NamedState> = {}): void =>
    model.report("edge", applied, { ...edge, ...more, ...fields });
  model.report("node1", 0);
  tell(0);
  model.synced();
  model.pod("a", true);
  model.publish("a", false);
  model.report("node1", 1);
  tell(0);
  end(model);
  /** Seconds with a heartbeat of the ingress in each. */
  const pass = (seconds: number, beat = (): void => tell(0)): void => {
    for (let second = 0; second < seconds; second++) {
      beat();
      model.pass(1_000);
    }
  };
  return { model, tell, pass };
}

const edge: Partial<NamedState> = { kind: "nginx", node: undefined, serves: ["ingress-class/nginx"] };

const stuck = ({ happened }: Model): number => happened.filter(([what]) => what === "stuck").length;
const asked = ({ withdrawals }: Model): number => [...withdrawals.after(0)].length;

describe("a consumer that still lists a pod after its end", () => {
  it("a consumer that lists a pod 60 s after its end is named once, with its reason, and is then asked no more", () => {
    const { model, pass } = ended({ reason: "not reloaded since its files changed" });
    pass(59);
    assert.equal(stuck(model), 0, "not before");
    assert.equal(asked(model), 1, "it is asked on");
    pass(2);
    assert.equal(stuck(model), 1);
    assert.deepEqual(model.terminations.stuck.lately(model.now), [
      {
        name: "nginx/edge",
        pod: "shop/a",
        pods: 1,
        reason: "not reloaded since its files changed",
        agoMs: 0,
      },
    ]);
    assert.equal(asked(model), 0);
    pass(120);
    assert.equal(stuck(model), 1);
    model.now += 3_600_000;
    assert.deepEqual(model.terminations.stuck.lately(model.now), [], "what was an hour ago is over");
  });

  it("it counts from the end of the containers where a finalizer keeps the object", () => {
    const { model, pass } = ended({}, (one) => one.pod("a", true, { phase: "Succeeded" }));
    pass(61);
    assert.equal(stuck(model), 1);
  });

  for (const [why, act] of [
    ["lets go in time", ({ pass, tell }) => (pass(30), tell(1), pass(40))],
    ["cannot be read", ({ pass, tell }) => pass(70, () => tell(0, { problem: "no answer" }))],
    ["falls silent", ({ model }) => model.pass(95_000)],
    [
      "has let go while the coordinator stood still",
      ({ model, tell }) => ((model.now += 70_000), model.pass(1_000), tell(1), model.pass(1_000)),
    ],
    ["goes by time", ({ pass, tell }) => pass(70, () => tell(0, { basis: "time" }))],
    [
      "has restarted since, and may not have looked yet",
      ({ model, pass }) => (pass(59), model.consumers.get("nginx/edge")?.reset(model.now), pass(3)),
    ],
    [
      "lists an address that another pod has by now",
      ({ model, pass }) => (pass(30), model.pod("b", false, { address: "ip-a" }), pass(40)),
    ],
    [
      "lists an address that another pod has had",
      ({ model, pass }) => (
        pass(30),
        model.pod("b", false, { address: "ip-a" }),
        model.podGone("b"),
        pass(40)
      ),
    ],
  ] satisfies readonly (readonly [string, (all: ReturnType<typeof ended>) => void])[])
    it(`a consumer that ${why} is not named`, () => {
      const all = ended();
      act(all);
      assert.equal(stuck(all.model), 0);
      assert.equal(asked(all.model), 0, "nobody is asked any more");
    });

  it("of a pod that every consumer has let go of nothing is asked after its end", () => {
    const { model } = ended({}, (one) => {
      one.report("edge", 1, edge);
      one.podGone("a");
    });
    assert.equal(asked(model), 0);
    assert.equal(model.terminations.decide(model.now), false, "nothing is waited for");
  });

  it("a stuck consumer delays no release of others, and few pods are asked about after their end", () => {
    const { model, pass } = ended();
    for (let at = 0; at < 200; at++) {
      const uid = `p${at}`;
      model.pod(uid);
      model.publish(uid, true);
    }
    pass(20);
    for (let at = 0; at < 200; at++) {
      model.pod(`p${at}`, true);
      model.publish(`p${at}`, false);
      model.podGone(`p${at}`);
    }
    assert.ok(asked(model) <= 50, `${asked(model)} are asked about`);
    pass(41);
    assert.equal(stuck(model), 1, "the first pod is not pushed out by later ones");
    // A proxy that has fallen silent is waited for.
    pass(60);
    const [one] = model.terminations.stuck.lately(model.now);
    assert.ok((one?.pods ?? 0) > 1, "later ones are counted");
    assert.equal(asked(model), 0);
  });
});
