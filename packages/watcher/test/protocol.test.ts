import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Consumer } from "../src/consumer.ts";
import { Poller } from "../src/poller.ts";
import { Replicas } from "../src/replicas.ts";
import { CoordinatorStandIn } from "./coordinator.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-watcher-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "secret\n");
after(() => rmSync(directory, { recursive: true }));

/** A proxy that does what the test says. */
class Played implements Consumer {
  readonly kind = "kube-proxy";
  readonly basis = "rules";
  readonly used = new Set<string>();
  looks = 0;
  /** How often it was waited for a change. */
  waits = 0;
  /** Milliseconds. */
  takes = 0;
  /** Milliseconds of processor time. */
  uses = 0;
  problem: string | undefined;
  why: string | undefined;
  readonly runsPrograms: boolean;

  /** Where the test says so, looks are made only when it tells. */
  readonly changed?: (since: number, signal: AbortSignal) => Promise<void>;
  tell: () => void = () => undefined;

  constructor({ runsPrograms = false, tellsChanges = false } = {}) {
    this.runsPrograms = runsPrograms;
    if (tellsChanges)
      this.changed = (_since, signal) =>
        new Promise((resolve) => {
          this.waits++;
          this.tell = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
  }

  async stillUsed(addresses: readonly string[]): Promise<ReadonlySet<string>> {
    this.looks++;
    if (this.problem !== undefined) throw new Error(this.problem);
    if (this.takes > 0) await delay(this.takes);
    for (const before = process.cpuUsage(); this.uses > 0;) {
      const { user, system } = process.cpuUsage(before);
      if (user + system >= this.uses * 1_000) break;
    }
    return new Set(addresses.filter((address) => this.used.has(address)));
  }

  reason(): string | undefined {
    return this.why;
  }
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    if (isTrue()) return;
    await delay(10);
  }
  assert.fail(`never: ${what}`);
}

async function watching(
  run: (context: {
    coordinators: readonly CoordinatorStandIn[];
    consumer: Played;
    failures: string[];
  }) => Promise<void>,
  { count = 1, consumer = new Played() } = {},
): Promise<void> {
  const coordinators = await Promise.all(Array.from({ length: count }, () => CoordinatorStandIn.start()));
  const failures: string[] = [];
  const poller = new Poller(consumer, () => undefined);
  const replicas = new Replicas({
    coordinators: coordinators.map(({ url }) => url),
    tokenFile,
    name: "kube-proxy/node1",
    node: "node1",
    poller,
    onFailure: (place) => failures.push(place),
  });
  try {
    await run({ coordinators, consumer, failures });
  } finally {
    await replicas.stop();
    await poller.stop();
    await Promise.all(coordinators.map((one) => one.stop()));
  }
}

// They mostly wait.
describe("the watcher and a coordinator", { concurrency: 4 }, () => {
  it("the watcher says who it is and how it knows, and waits without a look while nothing is withdrawn", () =>
    watching(async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      const { path, authorization, report } = coordinator.last();
      assert.equal(path, "/v1/consumers/kube-proxy%2Fnode1");
      assert.equal(authorization, "Bearer secret");
      assert.deepEqual(report, {
        version: 1,
        kind: "kube-proxy",
        node: "node1",
        basis: "rules",
        epoch: coordinator.epoch,
        applied: 0,
        known: 0,
        wait: 30_000,
      });
      assert.equal(consumer.looks, 0);
    }));

  it("a problem at the start is forgotten when the consumer can be read, though no pod waits", async () => {
    let failures = 0;
    const stillUsed = async (): Promise<ReadonlySet<string>> => {
      if (++failures <= 2) throw new Error("it has not started");
      return new Set();
    };
    const told: (string | undefined)[] = [];
    const poller = new Poller({ kind: "envoy", basis: "state", stillUsed }, (problem) => told.push(problem));
    await poller.check();
    assert.equal(poller.known.problem, "it has not started");
    await until("read", () => poller.known.problem === undefined);
    assert.deepEqual(told, ["it has not started", undefined]);
    await poller.stop();
  });

  it("the watcher reports a withdrawal only when its address is used no more, and the withdrawals behind it at once", () =>
    watching(async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      consumer.used.add("10.0.0.1").add("10.0.0.2");
      coordinator.withdraw("10.0.0.1").withdraw("10.0.0.2").withdraw("10.0.0.3");
      await until("the third", () => JSON.stringify(coordinator.progress().also) === "[[3,3]]");
      assert.equal(coordinator.progress().applied, 0);
      consumer.used.delete("10.0.0.2");
      await until("the second", () => JSON.stringify(coordinator.progress().also) === "[[2,3]]");
      consumer.used.delete("10.0.0.1");
      await until("all", () => coordinator.progress().applied === 3);
      const { looks } = consumer;
      await until("parked for long", () => coordinator.last().report.wait === 30_000);
      assert.equal(consumer.looks, looks, "it looks no more");
    }));

  it("the watcher sends a heartbeat while it is behind", () =>
    watching(async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      consumer.used.add("10.0.0.1");
      coordinator.withdraw("10.0.0.1");
      await until(
        "three heartbeats",
        () => coordinator.reports.filter(({ report }) => report.wait === 1_000).length >= 3,
      );
      assert.equal(coordinator.progress().applied, 0);
    }));

  it("the watcher reports nothing but the problem while the consumer cannot be read", () =>
    watching(async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      consumer.problem = "no permission";
      coordinator.withdraw("10.0.0.1");
      await until("the problem", () => coordinator.last().report.problem === "no permission");
      assert.equal(coordinator.progress().applied, 0);
      consumer.problem = undefined;
      await until("applied", () => coordinator.progress().applied === 1);
    }));

  it("the watcher says why the consumer is behind, as long as it says so", () =>
    watching(async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      consumer.used.add("10.0.0.1");
      coordinator.withdraw("10.0.0.1");
      consumer.why = "not reloaded";
      await until("the reason", () => coordinator.last().report.reason === "not reloaded");
      consumer.why = undefined;
      await until("no reason", () => coordinator.last().report.reason === undefined);
    }));

  it("the watcher looks when the consumer tells of a change or a further pod is withdrawn, and seldom otherwise", () =>
    watching(
      async ({ coordinators: [coordinator], consumer }) => {
        assert.ok(coordinator);
        await until("parked", () => coordinator.parked === 1);
        consumer.used.add("10.0.0.1");
        coordinator.withdraw("10.0.0.1");
        await delay(3_000);
        assert.ok(consumer.looks >= 2 && consumer.looks <= 5, `${consumer.looks} looks in three seconds`);
        const before = consumer.looks;
        coordinator.withdraw("10.0.0.2");
        await until("the further pod", () => coordinator.progress().also !== undefined);
        assert.ok(consumer.looks <= before + 3);
        consumer.used.clear();
        consumer.tell();
        await until("applied", () => coordinator.progress().applied === 2);
      },
      { consumer: new Played({ tellsChanges: true }) },
    ));

  it("the watcher begins anew with another run of the coordinator, and takes nothing from the numbers before", () =>
    watching(async ({ coordinators: [coordinator], consumer, failures }) => {
      assert.ok(coordinator);
      for (let count = 0; count < 5; count++) coordinator.withdraw(`10.0.1.${count}`);
      await until("applied", () => coordinator.progress().applied === 5);
      consumer.used.add("10.0.0.9");
      await until("parked", () => coordinator.parked === 1);
      await coordinator.restart(() => until("the end is noticed", () => failures.length > 0));
      coordinator.withdraw("10.0.0.9");
      await until("it is back", () => coordinator.reports.some(({ report }) => report.known === 1));
      assert.equal(coordinator.progress().applied, 0);
      consumer.used.clear();
      await until("applied again", () => coordinator.progress().applied === 1);
    }));

  it("the watcher tells every replica by its own numbers", () =>
    watching(
      async ({ coordinators: [one, other], consumer }) => {
        assert.ok(one && other);
        consumer.used.add("10.0.0.1");
        one.withdraw("10.0.0.7").withdraw("10.0.0.1");
        other.withdraw("10.0.0.1");
        await until("one", () => one.progress().applied === 1);
        assert.equal(other.progress().applied, 0);
        consumer.used.clear();
        await until("both", () => one.progress().applied === 2 && other.progress().applied === 1);
      },
      { count: 2 },
    ));

  it("the watcher goes on asking a coordinator that answers nonsense, and applies nothing", () =>
    watching(async ({ coordinators: [coordinator], failures }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      coordinator.nonsense = '{"version":1,"epoch":"x","head":1e9,"withdrawn":[["not an address",1]]}';
      coordinator.withdraw("10.0.0.1");
      const { length } = coordinator.reports;
      await until("more questions", () => coordinator.reports.length > length + 3);
      assert.equal(failures.length, 1, "what goes on is said once");
      coordinator.nonsense = undefined;
      await until("applied", () => coordinator.progress().applied === 1);
    }));

  it("the watcher pauses where each answer is of another run, as of several coordinators behind one address", () =>
    watching(async ({ coordinators: [coordinator], failures }) => {
      assert.ok(coordinator);
      await until("parked", () => coordinator.parked === 1);
      coordinator.isMany = true;
      coordinator.withdraw("10.0.0.1");
      const from = coordinator.reports.length;
      await until("it is told", () => failures.length > 0);
      await delay(2_000);
      const asked = coordinator.reports.length - from;
      assert.ok(asked <= 15, `asked ${asked} times`);
      assert.equal(failures.length, 1, "it is told once");
      coordinator.isMany = false;
      await until("applied", () => coordinator.progress().applied === 1);
    }));

  it("the watcher does not ask without a pause where no coordinator holds its questions back", () =>
    watching(async ({ coordinators: [coordinator], failures }) => {
      assert.ok(coordinator);
      coordinator.isHasty = true;
      await until("asked", () => coordinator.reports.length > 0);
      const from = coordinator.reports.length;
      await delay(1_000);
      const asked = coordinator.reports.length - from;
      assert.ok(asked <= 25, `asked ${asked} times in a second`);
      assert.deepEqual(failures, []);
    }));
});

// Apart: the processor time of the process is all its own.
it("the watcher looks again soon where its programs have only waited for the processor", () =>
  watching(
    async ({ coordinators: [coordinator], consumer }) => {
      assert.ok(coordinator);
      consumer.takes = 250;
      consumer.used.add("10.0.0.1");
      coordinator.withdraw("10.0.0.1");
      await until("waits", () => consumer.waits >= 3);
      consumer.takes = 0;
      consumer.uses = 250;
      const { looks, waits } = consumer;
      await until("looks", () => consumer.looks >= looks + 4);
      // The look that is under way when they begin to use it may still count as quick.
      assert.ok(consumer.waits <= waits + 1, "only a quick look is followed by a wait for a change");
    },
    { consumer: new Played({ runsPrograms: true, tellsChanges: true }) },
  ));
