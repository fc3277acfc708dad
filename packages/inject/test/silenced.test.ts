import assert from "node:assert/strict";
import test from "node:test";
import { isSilenced, namesIn } from "../src/index.ts";

test("a list of a DrainPolicy names senders one by one, and the kind of a load balancer for those of each Service", () => {
  assert.deepEqual(namesIn(undefined), []);
  assert.deepEqual(namesIn(""), []);
  const all = new Set(namesIn("mesh/istio, load-balancer/aws,ingress-class/alb"));
  for (const [need, expected] of [
    ["mesh/istio", true],
    ["ingress-class/alb", true],
    ["load-balancer/aws/shop/web", true],
    ["load-balancer/gcp/shop/web", false],
    ["mesh/istio-ambient", false],
  ] as const)
    assert.equal(isSilenced(all, need), expected, need);
});
