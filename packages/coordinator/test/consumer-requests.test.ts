import assert from "node:assert/strict";
import test from "node:test";
import { ConsumerRequests, type ReportOutcome } from "../src/protocol/consumer-requests.ts";
import { Model } from "./model.ts";

const reply = { isOver: false, answer: () => undefined, onClose: () => undefined };

const requestsOf = (
  model: Model,
  onReport: (outcome: ReportOutcome) => void = () => undefined,
): ConsumerRequests =>
  new ConsumerRequests({
    epoch: "e",
    consumers: model.consumers,
    withdrawals: model.withdrawals,
    pods: model.terminations.pods,
    now: () => model.now,
    onReport,
    onOtherVersion: () => undefined,
    onAdvance: () => undefined,
  });

test("a pod that reports for too many consumers leaves room for other pods, and has room again when it reports for fewer", () => {
  const model = new Model({ mode: "consistency" });
  const outcomes: string[] = [];
  const requests = requestsOf(model, (outcome) => outcomes.push(outcome));
  const body = { version: 1, kind: "http", basis: "state", epoch: "e", applied: 0, known: 0, wait: 0 };
  const say = (name: string, podUid?: string): string | undefined => {
    const identity = { account: "edge/watcher", podUid, node: "node1", until: Infinity };
    requests.report(name, JSON.stringify(body), identity, reply);
    return outcomes.at(-1);
  };
  model.synced();
  for (const podUid of ["one", undefined]) {
    for (let at = 0; at < 200; at++) assert.equal(say(`http/${podUid}-${at}`, podUid), "taken");
    assert.equal(say(`http/${podUid}-more`, podUid), "too-many");
    assert.equal(say(`http/${podUid}-0`, podUid), "taken", "one that it has reported for");
  }
  assert.equal(say("http/another", "two"), "taken");
  model.consumers.forget(model.now + 4_000_000);
  requests.forget();
  assert.equal(say("http/one-more", "one"), "taken");
});

test("a proxy whose pod is gone is forgotten, and no pod waits for it in vain", () => {
  const model = new Model({ mode: "consistency" });
  const requests = requestsOf(model);
  const say = (name: string, podUid: string, more: object = {}): void => {
    const known = { version: 1, kind: "haproxy", basis: "state", epoch: "e", applied: 0, known: 0, wait: 0 };
    const identity = { account: "edge/watcher", podUid, node: "node1", until: Infinity };
    requests.report(name, JSON.stringify({ ...known, ...more }), identity, reply);
  };
  model.synced();
  model.pod("new");
  say("haproxy/old", "old");
  say("haproxy/new", "new");
  say("kube-proxy/node1", "watcher-of-node1", { kind: "kube-proxy", node: "node1" });
  requests.forget();
  assert.equal(model.consumers.size, 3, "its pod may be one that has not been read yet");
  model.now += 61_000;
  requests.forget();
  assert.deepEqual(
    [...model.consumers.all].map(({ key }) => key),
    ["haproxy/new", "kube-proxy/node1"],
  );
});
