import assert from "node:assert/strict";
import test from "node:test";
import { tryProtocols } from "../fuzz/protocols.ts";
import { random as randomFrom } from "../../drain/test/random.ts";
import { parseReport } from "../src/protocol/report.ts";

test("20,000 bodies of both protocols: what is taken is within its bounds", () => {
  for (let seed = 1; seed <= 20_000; seed++)
    assert.equal(tryProtocols(randomFrom(seed)), undefined, `seed ${seed}`);
});

test("a good report is taken, and each wrong field is named", () => {
  const good = {
    version: 1,
    kind: "kube-proxy",
    node: "node1",
    basis: "rules",
    epoch: null,
    applied: 1,
    known: 2,
    wait: 99_999,
    also: [[3, 4]],
  };
  const read = parseReport(JSON.stringify(good), "kube-proxy/node1");
  assert.ok(typeof read !== "string" && "report" in read);
  assert.deepEqual([read.report.name, read.wait], ["node1", 30_000]);
  for (const [field, wrong] of Object.entries({
    kind: "Kube Proxy",
    node: "node2",
    basis: "guess",
    epoch: 7,
    applied: -1,
    wait: "soon",
    also: [[1, 1]],
    serves: ["everything at all"],
  }))
    assert.match(refusalOf({ ...good, [field]: wrong }), new RegExp(`^${field}`));
});

test("a report of another version is named, whatever else it holds", () => {
  for (const [version, named] of [
    [2, "2"],
    [0, "0"],
    ["1", "unknown"],
    [undefined, "unknown"],
  ] as const)
    assert.deepEqual(parseReport(JSON.stringify({ version, kind: 7 }), "node1"), { version: named });
});

function refusalOf(body: object): string {
  const read = parseReport(JSON.stringify(body), "node1");
  return typeof read === "string" ? read : "taken";
}
