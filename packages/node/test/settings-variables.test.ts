import assert from "node:assert/strict";
import { test } from "node:test";
import { initFlags, libraryVariables } from "@lameduck/options";
import { readFileSync } from "node:fs";
import { nodeErrors } from "../src/errors.ts";
import { documentedOptions } from "../src/options/option-names.ts";
import { misspeltVariables } from "../src/options/misspelt.ts";
import type { LameduckOptions } from "../src/index.ts";
import { parseSettings } from "../src/options/settings.ts";

const pod = { KUBERNETES_SERVICE_HOST: "198.18.0.1", LAMEDUCK_GRACE_PERIOD: "30s" };

function settings(options: LameduckOptions, environment: Record<string, string> = {}) {
  return parseSettings({ environment, ...options });
}
test("a misspelt variable is one warning that names the near one", () => {
  const warnings = (environment: Record<string, string>): readonly string[] =>
    settings({}, environment).warnings;
  assert.deepEqual(warnings({ LAMEDUCK_GRACE_PERIDO: "30s" }), [
    "LAMEDUCK_GRACE_PERIDO is unknown; did you mean LAMEDUCK_GRACE_PERIOD?",
  ]);
  for (const [name, meant] of [
    ["LAMEDUCK_FLOR", "LAMEDUCK_FLOOR"],
    ["LAMEDUCK_CAPS", "LAMEDUCK_CAP"],
    ["LAMEDUCK_PRE_STOP", "LAMEDUCK_PRESTOP"],
    ["LAMEDUCK_LOSSBUDGET", "LAMEDUCK_LOSS_BUDGET"],
    ["LAMEDUCK_GRACE-PERIOD", "LAMEDUCK_GRACE_PERIOD"],
    ["LAMEDUCK_CPA", "LAMEDUCK_CAP"],
    ["LAMEDUCK_DEALY", "LAMEDUCK_DELAY"],
  ] as const)
    assert.deepEqual(warnings({ [name]: "1s" }), [`${name} is unknown; did you mean ${meant}?`]);
  assert.deepEqual(warnings({ LAMEDUCK_FLOR: "" }), [], "empty counts as unset");
  assert.deepEqual(warnings({ LAMEDUCK_RAMP: "1s" }), [], "two letters of four are far");
  assert.deepEqual(warnings({ LAMEDUCK_WATERMARKS: "on", LAMEDUCK_PEERS: "3" }), [], "a newer injector's");
});
test("what Kubernetes sets for Services named lameduck is survived silently", () => {
  for (const service of ["LAMEDUCK", "LAMEDUCK_CAP", "LAMEDUCK_FLOOR", "LAMEDUCK_WINDOW_2"]) {
    const environment = {
      ...pod,
      [`${service}_SERVICE_HOST`]: "10.96.0.7",
      [`${service}_SERVICE_PORT`]: "80",
      [`${service}_SERVICE_PORT_HTTP`]: "80",
      [`${service}_PORT`]: "tcp://10.96.0.7:80",
      [`${service}_PORT_80_TCP`]: "tcp://10.96.0.7:80",
      [`${service}_PORT_80_TCP_PROTO`]: "tcp",
      [`${service}_PORT_80_TCP_PORT`]: "80",
      [`${service}_PORT_80_TCP_ADDR`]: "10.96.0.7",
    };
    const { drain, deadline, warnings } = settings({}, environment);
    assert.deepEqual([drain, deadline, warnings], [settings({}, pod).drain, 30_000, []], service);
  }
});

test("the init's name for the grace period is a warning that names the one which both read", () => {
  const warnings = (environment: Record<string, string>): readonly string[] =>
    settings({}, environment).warnings;
  assert.deepEqual(warnings({ LAMEDUCK_GRACE: "45s" }), [
    "LAMEDUCK_GRACE is read by lameduck-init alone; say LAMEDUCK_GRACE_PERIOD, which both read",
  ]);
  assert.deepEqual(warnings({ LAMEDUCK_GRACE: "45s", LAMEDUCK_GRACE_PERIOD: "45s" }), []);
});

test("no variable of the init is taken for a misspelt one", () => {
  const names = initFlags.flatMap(({ variable }) => variable ?? []);
  const all = Object.fromEntries(names.map((name) => [name, "1"]));
  assert.deepEqual(misspeltVariables(all), []);
});

test("the page lists every variable that users write", () => {
  const page = readFileSync(new URL("../../../docs/reference/library.md", import.meta.url), "utf8");
  for (const { variable, injected } of libraryVariables)
    assert.ok(injected || page.includes(`\`${variable}\``), variable);
});

test("every code has a remedy and the house's form", () => {
  for (const [code, remedy] of Object.entries(nodeErrors)) {
    assert.match(code, /^LAMEDUCK_[A-Z_]+$/);
    assert.ok(remedy.length > 10);
  }
});

test("editors show what every option means: its declaration has a comment", () => {
  const declarations = ["../dist/options/lameduck-options.d.ts", "../../drain/dist/options.d.ts"]
    .map((path) => readFileSync(new URL(path, import.meta.url), "utf8"))
    .join("");
  for (const name of documentedOptions)
    assert.match(declarations, new RegExp(`\\*/\\n    ${name}\\?:`), name);
});
