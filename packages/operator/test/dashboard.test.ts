import assert from "node:assert/strict";
import test from "node:test";
import { Registry } from "@prometheus-io/client";
import { dashboard, dashboardTemplate } from "../chart/dashboard.ts";
import { recordMetrics } from "../../coordinator/src/records/metrics.ts";
import { describeTermination } from "../../coordinator/src/records/report/describe.ts";
import { deletedAt, released } from "../../coordinator/test/terminations.ts";

/** Everything that a coordinator shows once a pod has ended, by name and label. */
async function shown(): Promise<{ names: Set<string>; labels: Map<string, Set<string>> }> {
  const registry = new Registry();
  const metrics = recordMetrics(registry, () => ({ kept: 0, waiting: 0 }));
  const followed = { isWhole: true, origin: deletedAt, began: deletedAt, closingAt: deletedAt + 5_600 };
  metrics.recorded(describeTermination(released({ overruledBy: "10.0.0.1" }), followed), true);
  metrics.records.inc({ outcome: "written" });
  metrics.events.inc({ reason: "DrainReleased" });
  metrics.removed.inc();
  const names = new Set<string>();
  const labels = new Map<string, Set<string>>();
  for (const [, name = "", inside = ""] of (await registry.metrics()).matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    names.add(name);
    const own = labels.get(name) ?? new Set();
    for (const [, label = ""] of inside.matchAll(/(\w+)="/g)) own.add(label);
    labels.set(name, own);
  }
  return { names, labels };
}

const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

test("every metric that the dashboard names exists, with the labels that it sums by", async () => {
  const { names, labels } = await shown();
  for (const query of queries) {
    const [name = ""] = /\blameduck_\w+/.exec(query) ?? [];
    assert.ok(names.has(name), `${name} in ${query}`);
    for (const label of (/by \(([^)]*)\)/.exec(query)?.[1] ?? "").split(", ").filter(Boolean))
      assert.ok(labels.get(name)?.has(label), `${label} of ${name}`);
  }
  assert.ok(queries.length >= 10);
});

test("Grafana's own braces are no template of Helm's", () => {
  const template = dashboardTemplate("");
  const rendered = template.replaceAll("{{`{{`}}", "{{").replaceAll("{{`}}`}}", "}}");
  assert.match(rendered, /"legendFormat": "\{\{kind\}\}"/);
  const [, body = ""] = /lameduck\.json: \|\n([\s\S]*)\{\{- end \}\}/.exec(rendered) ?? [];
  assert.deepEqual(JSON.parse(body), JSON.parse(JSON.stringify(dashboard)));
});
