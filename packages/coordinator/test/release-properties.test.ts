import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { Model } from "./model.ts";

type Step =
  | { readonly do: "terminate" | "withdraw" | "restore" | "remove"; readonly pod: number }
  | { readonly do: "report"; readonly node: number; readonly share: number; readonly also: boolean }
  | { readonly do: "join" | "leave" | "unready" | "ready" | "restart"; readonly node: number }
  | { readonly do: "pass"; readonly milliseconds: number };

const [podCount, nodeCount] = [4, 4];
const pod = fc.nat({ max: podCount - 1 });
const node = fc.nat({ max: nodeCount - 1 });

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("terminate", "withdraw"), pod }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("restore", "remove"), pod }) },
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant("report"),
        node,
        share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
        also: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom("join", "leave", "unready", "ready", "restart"), node }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("pass"), milliseconds: fc.nat({ max: 15_000 }) }) },
  ),
  { maxLength: 100, size: "max" },
);

/** What each node has said, kept apart from what is tested. */
class Heard {
  readonly there = new Set<number>();
  readonly notReadySince = new Map<number, number>();
  /** When nodes that nobody has listed were first reported for. */
  readonly unlisted = new Map<number, number>();
  readonly applied = new Map<number, Set<number>>();
}

function take(model: Model, heard: Heard, step: Step): void {
  switch (step.do) {
    case "terminate":
      model.pod(`p${step.pod}`, true);
      break;
    case "withdraw":
      model.publish(`p${step.pod}`, false);
      break;
    case "restore":
      model.publish(`p${step.pod}`, true);
      break;
    case "remove":
      model.podGone(`p${step.pod}`);
      break;
    case "pass":
      model.pass(step.milliseconds);
      break;
    case "report": {
      const { lastSequence: head } = model.withdrawals;
      const applied = Math.floor(step.share * head);
      const also: [number, number][] = step.also && applied + 2 <= head ? [[applied + 2, head]] : [];
      const known = heard.applied.get(step.node) ?? new Set();
      for (let number = 1; number <= applied; number++) known.add(number);
      for (const [from, to] of also) for (let number = from; number <= to; number++) known.add(number);
      heard.applied.set(step.node, known);
      if (!heard.there.has(step.node) && !model.consumers.get(`kube-proxy/node${step.node}`))
        heard.unlisted.set(step.node, model.now);
      model.report(`node${step.node}`, applied, { also });
      break;
    }
    case "leave":
      heard.there.delete(step.node);
      heard.notReadySince.delete(step.node);
      model.nodeGone(`node${step.node}`);
      break;
    case "unready":
      if (heard.there.has(step.node)) {
        if (!heard.notReadySince.has(step.node)) heard.notReadySince.set(step.node, model.now);
        model.node(`node${step.node}`, false);
      }
      break;
    case "restart":
      // As at the first report of a new process: what the former one has reported does not count.
      model.consumers.get(`kube-proxy/node${step.node}`)?.reset(model.now);
      heard.applied.delete(step.node);
      break;
    case "join":
    case "ready":
      heard.there.add(step.node);
      heard.unlisted.delete(step.node);
      heard.notReadySince.delete(step.node);
      model.node(`node${step.node}`, true);
  }
}

test("no pod is released before every node that counts has reported its withdrawal", () => {
  let released = 0;
  fc.assert(
    fc.property(steps, (all) => {
      const model = new Model({ mode: "consistency" });
      const heard = new Heard();
      for (let at = 0; at < nodeCount - 1; at++) {
        heard.there.add(at);
        model.node(`node${at}`);
        model.report(`node${at}`, 0);
      }
      for (let at = 0; at < podCount; at++) {
        model.pod(`p${at}`);
        model.publish(`p${at}`, true);
      }
      model.synced();
      const wasReleased = new Set<unknown>();
      for (const step of all) {
        take(model, heard, step);
        model.terminations.decide(model.now);
        for (const record of model.terminations.all.values()) {
          if (record.state !== "released") wasReleased.delete(record);
          if (record.state !== "released" || wasReleased.has(record)) continue;
          wasReleased.add(record);
          released++;
          const { sequence, releasedAt = NaN } = record;
          assert.ok(sequence !== undefined);
          // It may have been released in the middle of a step that lets time pass.
          const counting = [
            ...[...heard.there].filter(
              (one) => releasedAt - (heard.notReadySince.get(one) ?? Infinity) < 10_000,
            ),
            ...[...heard.unlisted.keys()].filter(
              (one) => releasedAt - (heard.unlisted.get(one) ?? 0) < 70_000,
            ),
          ];
          for (const one of counting)
            assert.ok(heard.applied.get(one)?.has(sequence), `node${one} has not reported ${sequence}`);
          assert.ok(counting.length > 0, "by somebody");
        }
      }
    }),
    { numRuns: 600 },
  );
  assert.ok(released > 200, `only ${released} releases were looked at`);
});

test("every pod is released once all nodes that count have reported everything", () => {
  fc.assert(
    fc.property(steps, (all) => {
      const model = new Model({ mode: "consistency" });
      const heard = new Heard();
      for (let at = 0; at < podCount; at++) {
        model.pod(`p${at}`);
        model.publish(`p${at}`, true);
      }
      take(model, heard, { do: "join", node: 0 });
      model.synced();
      for (const step of all) take(model, heard, step);
      // Whoever was published a moment ago is asked about later.
      model.pass(10_000);
      if (heard.there.size === heard.notReadySince.size) take(model, heard, { do: "ready", node: 0 });
      for (const one of [...heard.there, ...heard.unlisted.keys()])
        model.report(`node${one}`, model.withdrawals.lastSequence);
      model.pass(20_000);
      for (const record of model.terminations.all.values())
        // One that no Service has ever listed has nobody who could let go of it.
        if (record.sequence !== undefined && [...model.terminations.listings.servicesOf(record)].length > 0)
          assert.equal(record.state, "released", record.uid);
    }),
    { numRuns: 300 },
  );
});
