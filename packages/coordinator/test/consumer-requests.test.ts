import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate } from "node:timers/promises";
import { ConsumerRequests, type ReportOutcome } from "../src/protocol/consumer-requests.ts";
import { consumersStatus } from "../src/status.ts";
import { Model, routeOf } from "./model.ts";

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
    for (let at = 0; at < 2_000; at++) assert.equal(say(`http/${podUid}-${at}`, podUid), "taken");
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

/** A load balancer of Service shop/web, and one of another Service: each says what it hears, and reports it. */
function balancersOf(model: Model): {
  readonly heard: (service: string) => Promise<readonly (readonly string[])[]>;
  readonly applies: (service: string, applied: number) => void;
  readonly refused: () => string;
} {
  const requests = requestsOf(model);
  const heard = new Map<string, string[][]>();
  let refusal = "";
  const say = (service: string, fields: object, serves = [`load-balancer/aws/shop/${service}`]): void => {
    const common = {
      version: 1,
      kind: "aws",
      basis: "state",
      epoch: "e",
      applied: 0,
      known: 0,
      wait: 30_000,
    };
    const identity = { account: "lameduck/clouds", podUid: "watcher", node: "node1", until: Infinity };
    const answer = (status: number, text: string): void => {
      if (status !== 200) refusal = text;
      else {
        const { withdrawn } = JSON.parse(text) as { readonly withdrawn: readonly [string, number][] };
        heard.set(service, [
          ...(heard.get(service) ?? []),
          withdrawn.map(([address, at]) => `${address} ${at}`),
        ]);
      }
    };
    const body = JSON.stringify({ ...common, serves, ...fields });
    requests.report(`aws/shop.${service}`, body, identity, { ...reply, answer });
  };
  for (const service of ["web", "db"]) say(service, {});
  return {
    heard: async (service) => {
      requests.sweep();
      // A sweep that takes long goes on a turn later, after each answer at most.
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      return heard.get(service) ?? [];
    },
    applies: (service, applied) => say(service, { applied, known: applied }),
    refused: () => {
      say("db", {}, ["load-balancer/aws/shop/web"]);
      return refusal;
    },
  };
}

function withBalancer(): Model {
  const model = new Model({ mode: "consistency" });
  model.service(false, ["load-balancer/aws/shop/web"]);
  model.node("node1");
  for (const pod of ["a", "b"]) {
    model.pod(pod);
    model.publish(pod, true);
  }
  model.synced();
  return model;
}

function withdraw(model: Model, pod: string): void {
  model.pod(pod, true);
  model.publish(pod, false);
  model.report("node1", model.withdrawals.lastSequence);
  model.pass(1_000);
}

test("a load balancer hears of no pods but those behind its Service, and is not silent meanwhile", async () => {
  const model = withBalancer();
  const { heard, applies, refused } = balancersOf(model);
  withdraw(model, "a");
  assert.deepEqual([await heard("web"), await heard("db")], [[["ip-a 1"]], []]);
  const { consumers, withdrawals, nodes } = model;
  const status = (): unknown =>
    consumersStatus({ consumers, withdrawals, nodes }, { notReadyAfterSeconds: 60 }, model.now)
      .consumers.filter(({ name }) => name.startsWith("aws/"))
      .map(({ name, behind, isSilent }) => [name, behind, isSilent]);
  model.pass(10_000);
  assert.deepEqual(status(), [
    ["aws/shop.web", 1, true],
    ["aws/shop.db", 0, false],
  ]);
  applies("web", 1);
  assert.equal(model.state("a"), "released");
  model.pass(21_000);
  assert.deepEqual(await heard("db"), [[]], "the answer to an idle one comes in time, and names no pod");
  assert.match(refused(), /serves: it has changed/);
});

const laterBecause: Readonly<Record<string, (model: Model) => void>> = {
  "an object says so": (model) =>
    model.route(routeOf("TargetGroupBinding", "tg", ["shop/web"], ["load-balancer/aws/shop/db"])),
  "a DrainPolicy says so": (model) => model.policy("shop", { mode: "consistency", external: "aws/shop.db" }),
};

for (const [why, happens] of Object.entries(laterBecause))
  test(`a load balancer that a pod needs later is asked about it anew: ${why}`, async () => {
    const model = withBalancer();
    const { heard, applies } = balancersOf(model);
    withdraw(model, "b");
    applies("db", 1);
    assert.equal(model.state("b"), "waiting");
    happens(model);
    applies("web", 1);
    model.pass(11_000);
    assert.deepEqual([model.record("b").sequence, model.state("b")], [2, "waiting"]);
    assert.deepEqual((await heard("db")).at(-1), ["ip-b 2"]);
    model.report("node1", 2);
    applies("web", 2);
    assert.equal(model.state("b"), "waiting");
    applies("db", 2);
    assert.equal(model.state("b"), "released");
  });
