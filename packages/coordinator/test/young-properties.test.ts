import assert from "node:assert/strict";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { SlimEndpoint } from "../../cluster/src/objects.ts";
import type { SlimSlice } from "@lameduck/cluster";
import { Model, there } from "./model.ts";

/** What the API server says at some time of pod a, and of another pod behind the same Services. */
interface Published {
  readonly at: number;
  /** It passes its readiness probe, whether it terminates or not. */
  readonly isServing: boolean;
  readonly isTerminating: boolean;
  readonly otherIsReady: boolean;
  /** While it is ready it is reserved for zone a, and else for b. */
  readonly isForA: boolean;
  /** It is reserved for zone b. */
  readonly otherHasHint: boolean;
  /** Service shop/api selects the pod, too. */
  readonly isInApi: boolean;
  /** An Ingress leads to Service shop/api. */
  readonly isRouted: boolean;
}

const isReady = ({ isServing, isTerminating }: Published): boolean => isServing && !isTerminating;

/** Applies each state in order, and each as late as its lag says. */
class Lagging {
  readonly #states: readonly Published[];
  readonly #appliedAt: readonly number[];

  constructor(states: readonly Published[], lags: readonly number[]) {
    this.#states = states;
    let last = -Infinity;
    this.#appliedAt = states.map(({ at }, index) => (last = Math.max(last, at + (lags[index] ?? 0))));
  }

  at(now: number): Published {
    const last = this.#appliedAt.findLastIndex((at) => at <= now);
    return this.#states[Math.max(0, last)] ?? first;
  }

  get settledAt(): number {
    return this.#appliedAt.at(-1) ?? -Infinity;
  }
}

interface Proxy {
  readonly name: string;
  readonly settledAt: number;
  /** Whether it chooses the pod, and when the newest was published of what it knows. */
  chooses(this: void, now: number): { readonly isChosen: boolean; readonly published: number };
}

const hintsOf = (state: Published) => ({
  own: state.isForA ? "zone/a" : "zone/b",
  other: state.otherHasHint ? "zone/b" : undefined,
});

/**
 * As kube-proxy: hints count where each ready endpoint has one, and one is for the proxy's zone. Where no endpoint of a Service is ready, those that
 * terminate are chosen.
 */
function nodeProxy(name: string, zone: string, states: readonly Published[], lags: readonly number[]): Proxy {
  const endpoints = new Lagging(states, lags);
  return {
    name,
    settledAt: endpoints.settledAt,
    chooses(now) {
      const state = endpoints.at(now);
      const { isTerminating, isServing, otherIsReady } = state;
      const { own, other } = hintsOf(state);
      const ready = [...(isReady(state) ? [own] : []), ...(otherIsReady ? [other] : [])];
      const isByHints = ready.includes(zone) && !ready.includes(undefined);
      const isChosen =
        (isReady(state) && (!isByHints || own === zone)) || (isTerminating && isServing && !otherIsReady);
      return { isChosen, published: state.at };
    },
  };
}

/** As the proxy of an Ingress class: it hears of Ingresses and of endpoints by two watches. */
function ingressProxy(states: readonly Published[], lags: readonly (readonly number[])[]): Proxy {
  const [endpoints, routes] = [new Lagging(states, lags[0] ?? []), new Lagging(states, lags[1] ?? [])];
  return {
    name: "edge",
    settledAt: Math.max(endpoints.settledAt, routes.settledAt),
    chooses(now) {
      const [state, route] = [endpoints.at(now), routes.at(now)];
      const isChosen = isReady(state) && state.isInApi && route.isRouted;
      return { isChosen, published: Math.max(state.at, route.at) };
    },
  };
}

const tick = 250;
const longestLag = 9_750;
const ticks = fc.nat({ max: 40 }).map((count) => count * tick);

const first: Published = {
  at: 0,
  isServing: false,
  isTerminating: false,
  otherIsReady: true,
  isForA: true,
  otherHasHint: true,
  isInApi: false,
  isRouted: false,
};

const togglings = {
  pod: ["isServing"],
  other: ["otherIsReady"],
  both: ["isServing", "otherIsReady"],
  zone: ["isForA"],
  hint: ["otherHasHint"],
  selector: ["isInApi"],
  route: ["isRouted"],
} as const;

/** Changes, and from which of them on the pod terminates. In the end it does, and the other one is ready. */
const histories = fc
  .record({
    steps: fc.array(fc.record({ after: ticks, toggles: fc.constantFrom(...Object.values(togglings)) }), {
      minLength: 1,
      maxLength: 8,
    }),
    deletedBy: fc.nat({ max: 8 }),
  })
  .map(({ steps, deletedBy }): readonly Published[] => {
    const states = [first];
    for (const [index, { after, toggles }] of steps.entries()) {
      const before = states.at(-1)!;
      const toggled = Object.fromEntries(toggles.map((one) => [one, !before[one]]));
      const isTerminating = index >= deletedBy;
      states.push({ ...before, ...toggled, isTerminating, at: before.at + after + tick });
    }
    const { at, ...last } = states.at(-1)!;
    return [...states, { ...last, isTerminating: true, otherIsReady: true, at: at + tick }];
  });

const lags = fc.array(fc.nat({ max: longestLag }), { minLength: 10, maxLength: 10 });

/** One replica, which is told what is published. */
class Replica {
  readonly model = new Model();
  /** What it knows of the slices is of this time. */
  heardAt = -Infinity;
  readonly #slices = new Map<string, SlimSlice>();
  readonly #heard = new Map<string, SlimSlice>();
  readonly #applied = new Map<string, Set<number>>();

  constructor(now: number, state: Published) {
    const { model } = this;
    model.now = now;
    for (const node of ["node1", "node2"]) model.node(node);
    model.pod("other");
    this.tell(state);
    this.hearOfSlices(false);
    model.terminations.synced(now);
  }

  tell(state: Published): void {
    const { model } = this;
    const { isTerminating, isServing, otherIsReady, isInApi, isRouted } = state;
    model.pod("a", isTerminating);
    if (isRouted) model.ingress(["shop/api"]);
    else model.ingressGone();
    const { own, other } = hintsOf(state);
    const reserved = (one: string | undefined) => (one === undefined ? {} : { reservedFor: [one] });
    const pod = { pod: "a", isReady: isReady(state), isTerminating, isServing };
    this.#write("web", [
      { pod: "other", isReady: otherIsReady, isTerminating: false, node: "node0", ...reserved(other) },
      { ...pod, node: "node0", ...reserved(own) },
    ]);
    this.#write("api", isInApi ? [pod] : []);
  }

  /** As the API server does: it counts the changes. */
  #write(service: string, endpoints: readonly SlimEndpoint[]): void {
    const former = this.#slices.get(service);
    if (former && isDeepStrictEqual(former.endpoints, endpoints)) return;
    const generation = (former?.metadata.generation ?? 0) + 1;
    const metadata = { name: service, uid: service, namespace: "shop", generation };
    this.#slices.set(service, { metadata, service: `shop/${service}`, endpoints });
  }

  /** @param live by a watch, which tells each change; else by a list, in which some may be missed. */
  hearOfSlices(live: boolean): void {
    const { model } = this;
    const { now: at } = model;
    this.heardAt = at;
    for (const [service, slice] of this.#slices) {
      if (this.#heard.get(service) === slice) continue;
      this.#heard.set(service, slice);
      // One slice after the other, as a watch tells.
      model.now += 0.01;
      model.terminations.slice({ ...there(slice), at, live }, model.now);
    }
  }

  /** As watchers do: what is not in the rules is reported, and stays so. */
  hear({ name, chooses }: Proxy, now: number): void {
    const { model } = this;
    const { withdrawals } = model;
    const numbers = this.#applied.get(name) ?? new Set();
    this.#applied.set(name, numbers);
    if (!chooses(now).isChosen) for (const { sequence } of withdrawals.after(0)) numbers.add(sequence);
    const pending = [...withdrawals.after(0)].find(({ sequence }) => !numbers.has(sequence));
    const applied = pending ? pending.sequence - 1 : withdrawals.lastSequence;
    if (name === "edge") model.report(name, applied, { kind: "nginx", node: undefined });
    else model.report(name, applied);
  }

  get isReleased(): boolean {
    this.model.terminations.decide(this.model.now);
    return this.model.terminations.all.get("a")?.state === "released";
  }
}

it("no pod is released that a proxy chooses, or will choose because of what was published before", () => {
  let released = 0;
  const began = 1_000_000;
  fc.assert(
    fc.property(
      histories,
      fc.array(lags, { minLength: 4, maxLength: 4 }),
      fc.option(fc.nat({ max: 240 }).map((count) => count * tick)),
      fc.option(fc.integer({ min: 1, max: 40 }).map((count) => count * tick)),
      (history, [lags1 = [], lags2 = [], ...lagsOfEdge], restartsAt, listsEvery) => {
        // A Service that selects the pod only between two lists is not heard of.
        const states = listsEvery === null ? history : history.map((one) => ({ ...one, isInApi: true }));
        const proxies = [
          nodeProxy("node1", "zone/a", states, lags1),
          nodeProxy("node2", "zone/b", states, lags2),
          ingressProxy(states, lagsOfEdge),
        ];
        let [state = first, ...left] = states;
        let replica = new Replica(began - 30_000, state);
        replica.model.pass(30_000);
        let wasReleased = false;
        const settledAt = Math.max(...proxies.map((one) => one.settledAt), states.at(-1)!.at + longestLag);
        // A replica that has just started waits for proxies that do not report yet.
        const end =
          Math.max(settledAt, restartsAt === null ? 0 : restartsAt + 20_000) + (listsEvery ?? 0) + 3 * tick;
        for (let at = 0; at <= end; at += tick) {
          replica.model.now = began + at;
          while ((left[0]?.at ?? Infinity) <= at) replica.tell((state = left.shift()!));
          if (listsEvery === null) replica.hearOfSlices(true);
          else if (at % listsEvery === 0) replica.hearOfSlices(false);
          if (at === restartsAt) replica = new Replica(began + at, state);
          for (const proxy of proxies) replica.hear(proxy, at);
          const { isReleased, heardAt } = replica;
          if (isReleased && !wasReleased) {
            released++;
            for (const proxy of proxies)
              for (let then = at; then <= settledAt; then += tick) {
                const { isChosen, published } = proxy.chooses(then);
                assert.ok(
                  !isChosen || began + published > heardAt,
                  `released at ${at}, chosen at ${then}: ${proxy.name}`,
                );
              }
          }
          wasReleased = isReleased;
        }
        assert.ok(wasReleased, "in the end it is released");
      },
    ),
    { numRuns: 2_000 },
  );
  assert.ok(released > 1_000, `only ${released} releases were looked at`);
});
