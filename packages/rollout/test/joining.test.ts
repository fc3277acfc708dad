import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { joinPods } from "../src/join.ts";
import type { RequestRecord } from "@lameduck/accounting";

let ids = 0;

function request(fields: Partial<RequestRecord>): RequestRecord {
  const at = fields.intended ?? 0;
  return {
    id: ids++,
    intended: at,
    sent: at,
    finished: at + 5,
    mode: "pooled",
    kind: "quick",
    sender: "service",
    reused: true,
    outcome: "ok",
    received: 10,
    ...fields,
  };
}

const answered = (connection: number, pod: string, fields: Partial<RequestRecord> = {}): RequestRecord =>
  request({ connection, pod, podKnownBy: "header", ...fields });
const reset = (connection: number, fields: Partial<RequestRecord> = {}): RequestRecord =>
  request({ connection, outcome: "reset-before-response", error: "ECONNRESET", ...fields });

const pods = new Map([
  ["10.1.0.1", "web-1"],
  ["10.1.0.2", "web-2"],
]);
const options: Parameters<typeof joinPods>[1] = {
  podAt: (address) => pods.get(address),
  ownerOf: (address) => pods.get(address),
  isPod: (name) => [...pods.values()].includes(name),
  addresses: new Map([["service", "10.96.0.7"]]),
};

/** Five connections of a route behind kube-proxy, each with two answers of its pod. */
const sticky = [1, 2, 3, 4, 5].flatMap((connection) => {
  const pod = connection % 2 === 0 ? "web-2" : "web-1";
  return [answered(connection, pod), answered(connection, pod)];
});

test("a reset on a kept-alive connection belongs to the pod that had answered on it", () => {
  const { records, counts, sticky: routes } = joinPods([...sticky, reset(2)], options);
  const lost = records.at(-1);
  assert.deepEqual([lost?.pod, lost?.podKnownBy], ["web-2", "tuple"]);
  assert.deepEqual(counts, { header: 10, proxy: 0, tuple: 1, unknown: 0 });
  assert.deepEqual(routes, ["service"]);
});

test("a connection through a proxy that chooses a pod for each request does not tell the pod", () => {
  const mixed = [...sticky, answered(1, "web-2"), reset(2)];
  const { records, counts } = joinPods(mixed, options);
  assert.equal(records.at(-1)?.pod, undefined);
  assert.equal(counts.unknown, 1);
});

test("a route with few connections is not taken for one that keeps a connection on its pod", () => {
  const { records } = joinPods([answered(1, "web-1"), answered(1, "web-1"), reset(1)], options);
  assert.equal(records.at(-1)?.pod, undefined);
});

test("a connection of another route is another one, even with the same number", () => {
  const { records } = joinPods([...sticky, reset(2, { sender: "ingress" })], options);
  assert.equal(records.at(-1)?.pod, undefined);
});

test("the address of an upstream that a proxy named is translated to the pod that had it", () => {
  const told = ["10.1.0.2", "10.1.0.2:8080"].map((pod) => answered(9, pod));
  const { records } = joinPods(told, options);
  assert.deepEqual(
    records.map(({ pod, podKnownBy }) => [pod, podKnownBy]),
    [
      ["web-2", "proxy"],
      ["web-2", "proxy"],
    ],
  );
});

test("the name of a pod that does not belong to the target is not believed", () => {
  const { records } = joinPods([answered(9, "other-app-7")], options);
  assert.deepEqual([records[0]?.pod, records[0]?.podKnownBy], [undefined, undefined]);
});

test("a request on a route to a pod's own address belongs to that pod", () => {
  const direct = { ...options, addresses: new Map([["service", "10.1.0.1"]]) };
  const { records } = joinPods([request({ mode: "new", outcome: "refused" })], direct);
  assert.deepEqual([records[0]?.pod, records[0]?.podKnownBy], ["web-1", "address"]);
});

test("joining pods loses and invents no request, changes no known pod, and adds a pod only by an answer on the same connection", () => {
  const connection = fc.integer({ min: 1, max: 6 });
  const pod = fc.constantFrom("web-1", "web-2");
  const one = fc.oneof(
    fc.tuple(connection, pod).map(([number, name]) => answered(number, name)),
    connection.map((number) => reset(number)),
    fc.constant(undefined).map(() => request({ mode: "new", reused: false, outcome: "refused" })),
  );
  fc.assert(
    fc.property(fc.array(one, { maxLength: 60 }), (records) => {
      const { records: joined, counts } = joinPods(records, options);
      assert.deepEqual(
        joined.map(({ id }) => id),
        records.map(({ id }) => id),
      );
      assert.equal(counts.header + counts.proxy + counts.tuple + counts.unknown, records.length);
      const pairs = new Set(
        records.filter((r) => r.pod !== undefined).map((r) => `${r.connection} ${r.pod}`),
      );
      joined.forEach((record, index) => {
        if (records[index]?.pod !== undefined) assert.equal(record.pod, records[index].pod);
        else if (record.pod !== undefined) assert.ok(pairs.has(`${record.connection} ${record.pod}`));
      });
    }),
  );
});
