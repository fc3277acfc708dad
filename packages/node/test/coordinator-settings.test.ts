import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSettings } from "../src/options/settings.ts";
import { inPod } from "./child.ts";
import { ofPod } from "./coordination.ts";

test("variables of Services named lameduck-coordinator, lameduck-pod and lameduck-mode are no coordinator", () => {
  const ofServices = Object.fromEntries(
    ["COORDINATOR", "POD", "MODE"].flatMap((name) => [
      [`LAMEDUCK_${name}_PORT`, "tcp://198.18.0.9:8070"],
      [`LAMEDUCK_${name}_SERVICE_HOST`, "198.18.0.9"],
      [`LAMEDUCK_${name}_SERVICE_PORT`, "8070"],
      [`LAMEDUCK_${name}_PORT_8070_TCP`, "tcp://198.18.0.9:8070"],
      [`LAMEDUCK_${name}_PORT_8070_TCP_ADDR`, "198.18.0.9"],
    ]),
  );
  const { coordinator, warnings } = parseSettings({ environment: { ...inPod, ...ofServices } });
  assert.deepEqual([coordinator, warnings], [undefined, []]);
});

test("what a platform has injected wrongly is one line, and the pod starts", () => {
  const address = "http://198.18.0.9:8070";
  for (const [name, value] of [
    ["LAMEDUCK_COORDINATOR", "tcp://198.18.0.9:8070"],
    ["LAMEDUCK_COORDINATOR", "198.18.0.9:8070"],
    ["LAMEDUCK_COORDINATOR", "https://198.18.0.9"],
    ["LAMEDUCK_POD_UID", " "],
  ] as const) {
    const environment = {
      ...ofPod,
      LAMEDUCK_COORDINATOR: address,
      LAMEDUCK_POLICY: "acknowledged",
      [name]: value,
    };
    const { warnings, coordinator, drain } = parseSettings({ environment });
    assert.equal(warnings.length, 1, warnings.join("\n"));
    assert.equal(coordinator?.place, undefined);
    assert.equal(drain.policy.kind, "acknowledged");
  }
  const { coordinator } = parseSettings({
    environment: { ...ofPod, LAMEDUCK_COORDINATOR: "http://[fd00::1]:8070" },
  });
  assert.deepEqual([coordinator?.place?.host, coordinator?.place?.port], ["fd00::1", 8070]);
});

test("the policy acknowledged is one line where no coordinator was injected, and the pod starts", () => {
  const byVariable = { LAMEDUCK_POLICY: "acknowledged" };
  const inCode = { policy: "acknowledged" } as const;
  for (const [place, options, variables] of [
    ["LAMEDUCK_POLICY", {}, byVariable],
    ["LAMEDUCK_POLICY", {}, { ...byVariable, LAMEDUCK_COORDINATOR: " " }],
    ["LAMEDUCK_POLICY", { coordinator: false }, { ...byVariable, LAMEDUCK_COORDINATOR: "http://198.18.0.9" }],
    ["policy", inCode, {}],
    ["policy", { ...inCode, mode: "consistency" }, byVariable],
  ] as const) {
    const { warnings, drain, coordinator } = parseSettings({
      ...options,
      environment: { ...ofPod, ...variables },
    });
    assert.deepEqual([drain.policy.kind, coordinator], ["adaptive", undefined]);
    assert.deepEqual(warnings, [
      `${place}: acknowledged needs a coordinator (LAMEDUCK_COORDINATOR); adaptive decides`,
    ]);
  }
});
