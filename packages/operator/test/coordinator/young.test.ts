import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Model } from "./model.ts";

/** Two nodes that report, and Service shop/web with one pod that stays. */
function running(): Model {
  const model = new Model();
  for (const node of ["node1", "node2"]) model.node(node);
  model.pod("other");
  model.publish("other", true);
  for (const node of ["node1", "node2"]) model.report(node, 0);
  model.synced();
  return model;
}

function deleted(model: Model, pod: string): void {
  model.pod(pod, true);
  model.publish(pod, false);
}

function allReport(model: Model): void {
  for (const node of ["node1", "node2"]) model.report(node, model.withdrawals.head);
}

describe("a young pod", () => {
  it("is not released before each proxy has had the time to add it, and is asked about then", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(3_000);
    deleted(model, "a");
    allReport(model);
    assert.equal(model.state("a"), "waiting");
    const { progress } = model.terminations;
    const behind = () => progress.behind(model.record("a"), model.settings.of("shop"), model.now);
    assert.deepEqual(behind(), [{ name: "all", how: "young" }]);
    model.pass(6_999);
    assert.equal(model.record("a").number, undefined);
    model.pass(1);
    assert.equal(model.record("a").number, 1, "consumers look now");
    assert.deepEqual(
      behind().map(({ name }) => name),
      ["kube-proxy/node1", "kube-proxy/node2"],
    );
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("is one that was not ready for a moment, too: a proxy that lags shows states of before", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(60_000);
    model.publish("a", false, false);
    model.pass(500);
    model.publish("a", true);
    model.pass(1_000);
    deleted(model, "a");
    allReport(model);
    assert.equal(model.state("a"), "waiting");
    model.pass(9_000);
    allReport(model);
    assert.equal(model.state("a"), "released");
  });

  it("is none that has been published for longer, nor one that the first lists show", () => {
    const model = running();
    model.pod("a");
    model.publish("a", true);
    model.pass(10_000);
    for (const [pod, number] of [["a", 1] as const, ["other", 2] as const]) {
      deleted(model, pod);
      assert.equal(model.record(pod).number, number);
    }
  });

  it("is one whose Service has moved it from one slice to another by two changes, but not by one", () => {
    const model = running();
    const slice = (name: string, isReady: boolean): void => {
      const endpoints = isReady ? [{ pod: "a", isReady, isTerminating: false }] : [];
      const metadata = { name, uid: name, namespace: "shop" };
      const object = { metadata, service: "shop/web", endpoints };
      model.terminations.slice({ type: "there", object, at: 0, live: true, since: 0 }, model.now);
    };
    model.pod("a");
    slice("one", true);
    model.pass(20_000);
    slice("two", true);
    slice("one", false);
    model.pod("a", true);
    slice("two", false);
    assert.equal(model.record("a").number, 1);
  });

  it("that only clients by DNS know is not waited for: they have no rules", () => {
    const model = running();
    model.service(true);
    model.pass(60_000);
    model.pod("a");
    model.publish("a", true);
    model.pass(1_000);
    deleted(model, "a");
    assert.equal(model.state("a"), "waiting");
    model.pass(6_000);
    assert.equal(model.state("a"), "released");
  });
});

/** What is published at some time: whether the pod and the other one are ready, and whether the pod terminates. */
interface Published {
  readonly at: number;
  readonly isReady: boolean;
  readonly otherIsReady: boolean;
  readonly isTerminating: boolean;
  /** It passes its readiness probe, whether it terminates or not. */
  readonly isServing: boolean;
}

/** As kube-proxy: where no endpoint is ready, those that terminate are chosen. */
const chooses = ({ isReady, otherIsReady, isTerminating, isServing }: Published): boolean =>
  isReady || (isTerminating && isServing && !otherIsReady);

/** Applies each state in order, and each as late as its lag says. */
class LaggingProxy {
  readonly #states: readonly Published[];
  readonly #appliedAt: readonly number[];

  constructor(states: readonly Published[], lags: readonly number[]) {
    this.#states = states;
    let last = -Infinity;
    this.#appliedAt = states.map(({ at }, index) => (last = Math.max(last, at + (lags[index] ?? 0))));
  }

  /** The state in its rules, and those that it will still apply. */
  statesFrom(now: number): readonly Published[] {
    const current = this.#appliedAt.findLastIndex((at) => at <= now);
    return this.#states.slice(Math.max(0, current));
  }

  get settledAt(): number {
    return this.#appliedAt.at(-1) ?? -Infinity;
  }
}

const tick = 250;
const longestLag = 9_750;
const ticks = fc.nat({ max: 40 }).map((count) => count * tick);

/** Changes of readiness, and which of them deletes the pod. */
const histories = fc
  .record({
    steps: fc.array(fc.record({ after: ticks, toggles: fc.constantFrom("pod", "other", "both") }), {
      minLength: 1,
      maxLength: 8,
    }),
    deletedBy: fc.nat({ max: 8 }),
  })
  .map(({ steps, deletedBy }): readonly Published[] => {
    const states: Published[] = [
      { at: 0, isReady: false, otherIsReady: true, isTerminating: false, isServing: false },
    ];
    for (const [index, { after, toggles }] of [...steps, ...lastSteps].entries()) {
      const { at, otherIsReady, ...before } = states.at(-1)!;
      const isTerminating = index >= Math.min(deletedBy, steps.length);
      const isServing = isTerminating || toggles === "other" ? before.isServing : !before.isServing;
      states.push({
        at: at + after + tick,
        isReady: isServing && !isTerminating,
        otherIsReady: toggles === "pod" ? otherIsReady : toggles === "ready" || !otherIsReady,
        isTerminating,
        isServing,
      });
    }
    return states;
  });

/** In the end the pod is deleted, and the other one is ready. */
const lastSteps = [{ after: 0, toggles: "ready" as const }];

const lagsOfProxies = fc.array(fc.array(fc.nat({ max: longestLag }), { minLength: 10, maxLength: 10 }), {
  minLength: 2,
  maxLength: 2,
});

it("no pod is released that a proxy chooses, or will choose because of what was published before", () => {
  let released = 0;
  fc.assert(
    fc.property(histories, lagsOfProxies, (states, lags) => {
      const model = running();
      const began = model.now;
      model.pod("a");
      const proxies = lags.map((one) => new LaggingProxy(states, one));
      const settledAt = Math.max(...proxies.map((proxy) => proxy.settledAt));
      const applied = proxies.map(() => new Set<number>());
      const left = [...states];
      const last = states.at(-1)!.at;
      let wasReleased = false;
      for (let at = 0; at <= Math.max(settledAt, last + longestLag) + 3 * tick; at += tick) {
        model.now = began + at;
        while ((left[0]?.at ?? Infinity) <= at) {
          const { isReady, otherIsReady, isTerminating } = left.shift()!;
          if (isTerminating) model.pod("a", true);
          model.publish("other", otherIsReady, false);
          model.publish("a", isReady, isTerminating);
        }
        for (const [index, proxy] of proxies.entries()) {
          const hasLetGo = proxy
            .statesFrom(at)
            .slice(0, 1)
            .every((current) => !chooses(current));
          const { withdrawals } = model;
          const numbers = applied[index] ?? new Set();
          for (const { number } of withdrawals.after(0)) if (hasLetGo) numbers.add(number);
          const pending = [...withdrawals.after(0)].find(({ number }) => !numbers.has(number));
          model.report(`node${index + 1}`, pending ? pending.number - 1 : withdrawals.head);
        }
        model.terminations.decide(model.now);
        const isReleased = model.terminations.records.get("a")?.state === "released";
        if (isReleased && !wasReleased) {
          released++;
          for (const proxy of proxies)
            for (const state of proxy.statesFrom(at))
              assert.ok(state.at > at || !chooses(state), `released at ${at}: ${JSON.stringify(state)}`);
        }
        wasReleased = isReleased;
      }
      assert.ok(wasReleased, "in the end it is released");
    }),
    { numRuns: 2_000 },
  );
  assert.ok(released > 1_000, `only ${released} releases were looked at`);
});
