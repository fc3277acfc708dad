/** Hints of EndpointSlices, as kube-proxy 1.34 and later reads them, and as those before do. */
import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { Listings, type SlimSlice } from "@lameduck/cluster";
import type { SlimEndpoint } from "../../cluster/src/objects.ts";
import { there } from "./model.ts";

interface Sender {
  readonly node: string;
  readonly zone: string;
  readonly knowsNodes: boolean;
}

const names = ["1", "2", "3"];
const senders: readonly Sender[] = [true, false].flatMap((knowsNodes) =>
  names.flatMap((node) => names.map((zone) => ({ node: `node/${node}`, zone: `zone/${zone}`, knowsNodes }))),
);

/** The endpoints that a proxy chooses by the traffic policy Cluster. */
function chosenBy({ node, zone, knowsNodes }: Sender, endpoints: readonly SlimEndpoint[]): Set<string> {
  const ready = endpoints.filter(({ isReady }) => isReady);
  const hintsOf = ({ reservedFor = [] }: SlimEndpoint, kind: string): readonly string[] =>
    reservedFor.filter((place) => place.startsWith(kind));
  const isMode = (kind: string, own: string): boolean =>
    ready.every((one) => hintsOf(one, kind).length > 0) &&
    ready.some((one) => hintsOf(one, kind).includes(own));
  const mode = knowsNodes && isMode("node/", node) ? node : isMode("zone/", zone) ? zone : undefined;
  const usable = ready.filter(({ reservedFor = [] }) => mode === undefined || reservedFor.includes(mode));
  const terminating = endpoints.filter((one) => one.isTerminating && one.isServing !== false);
  return new Set((usable.length > 0 ? usable : terminating).map(({ pod }) => pod));
}

const places = (kind: string) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...names).map((name) => [kind + name]) },
    fc.subarray(names.map((name) => kind + name)),
  );

const endpoint = fc
  .record({
    condition: fc.constantFrom("ready", "ready", "ready", "terminating", "not ready"),
    nodes: places("node/"),
    zones: places("zone/"),
  })
  .map(({ condition, nodes, zones }): Omit<SlimEndpoint, "pod"> => ({
    isReady: condition === "ready",
    isTerminating: condition === "terminating",
    ...(nodes.length + zones.length > 0 ? { reservedFor: [...nodes, ...zones] } : {}),
  }));

/** Changes of one of two slices: of each pod, or of the one that is named. */
const changes = fc.array(
  fc.record({
    slice: fc.nat({ max: 1 }),
    pod: fc.nat({ max: 5 }),
    to: fc.option(endpoint),
  }),
  { minLength: 10, maxLength: 40 },
);

it("the coordinator finds each pod that a proxy begins to choose because of a change of hints or readiness", () => {
  let [begun, widened] = [0, 0];
  fc.assert(
    fc.property(changes, (all) => {
      const listings = new Listings(() => true);
      const slices = [new Map<string, SlimEndpoint>(), new Map<string, SlimEndpoint>()];
      const published = (): SlimEndpoint[] => slices.flatMap((slice) => [...slice.values()]);
      for (const [now, { slice, pod, to }] of all.entries()) {
        const before = published();
        const uid = `${slice}-${pod}`;
        // No pod is ready again that terminates.
        if (slices[slice]?.get(uid)?.isTerminating === true && to?.isTerminating === false) continue;
        if (to) slices[slice]?.set(uid, { pod: uid, ...to });
        else slices[slice]?.delete(uid);
        const name = `web-${slice}`;
        const endpoints = [...(slices[slice]?.values() ?? [])];
        const metadata = { name, uid: name, namespace: "shop" };
        const object: SlimSlice = { metadata, service: "shop/web", endpoints };
        const { hintsDropped, fallsBackToTerminating, lostLastReady } = listings.slice(there(object), now);
        if (hintsDropped) widened++;
        const after = published();
        const isNew = (one: string): boolean =>
          listings.publishedAt({ namespace: "shop", uid: one, addresses: [] }) === now;
        const wasReady = new Set(before.flatMap((one) => (one.isReady ? [one.pod] : [])));
        for (const sender of senders) {
          const former = chosenBy(sender, before);
          for (const one of chosenBy(sender, after)) {
            if (former.has(one) || isNew(one)) continue;
            begun++;
            const isReady = after.some((each) => each.pod === one && each.isReady);
            const isFound = isReady
              ? hintsDropped
              : wasReady.has(one)
                ? fallsBackToTerminating
                : lostLastReady.has(undefined);
            assert.ok(isFound, `${one} at ${now}, by ${JSON.stringify(sender)}`);
          }
        }
      }
    }),
    { numRuns: 2_000 },
  );
  assert.ok(begun > 10_000 && widened > 1_000, `only ${begun} and ${widened}`);
});
