import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { dashboard, dashboardTemplate } from "../chart/dashboard.ts";
import { exported, unknownIn } from "./metrics-shown.ts";

const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
const variables = dashboard.templating.list.flatMap((one) => ("definition" in one ? [one.definition] : []));

test("every metric that the dashboard names exists, with the labels that it chooses and sums by", () => {
  const known = exported();
  for (const query of [...queries, ...variables]) assert.deepEqual(unknownIn(query, known), [], query);
  assert.ok(queries.length >= 20 && variables.length === 2);
  assert.deepEqual(unknownIn('sum by (nobody) (lameduck_ready{foo="a"}) + lameduck_none'), [
    "foo of lameduck_ready",
    "lameduck_none",
    'nobody in sum by (nobody) (lameduck_ready{foo="a"}) + lameduck_none',
  ]);
});

test("Prometheus can read every query of the dashboard, by its own promtool", (t) => {
  if (spawnSync("promtool", ["--version"]).error !== undefined)
    return t.skip("promtool is not here; on Debian: apt-get install prometheus");
  // Grafana puts durations in place of its own variables.
  const rules = queries.map((query, index) => ({
    record: `query:${index}`,
    expr: query.replaceAll(/\$__(?:rate_interval|range)/g, "5m"),
  }));
  const directory = mkdtempSync(join(tmpdir(), "lameduck-dashboard-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "rules.yaml");
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  const { status, stdout, stderr } = spawnSync("promtool", ["check", "rules", file], { encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

test("no panel of the dashboard covers another, and each has a number of its own", () => {
  const cells = new Set<string>();
  for (const panel of dashboard.panels) {
    const { x, y, w, h } = panel["gridPos"] as { x: number; y: number; w: number; h: number };
    for (let column = x; column < x + w; column++)
      for (let line = y; line < y + h; line++) {
        assert.ok(!cells.has(`${column},${line}`), panel.title);
        cells.add(`${column},${line}`);
      }
  }
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
});

test("Grafana's own braces are no template of Helm's, and the plain file is the same dashboard", () => {
  const template = dashboardTemplate("");
  const rendered = template.replaceAll("{{`{{`}}", "{{").replaceAll("{{`}}`}}", "}}");
  assert.match(rendered, /"legendFormat": "\{\{kind\}\}"/);
  const [, body = ""] = /lameduck\.json: \|\n([\s\S]*)\{\{- end \}\}/.exec(rendered) ?? [];
  const same: unknown = JSON.parse(JSON.stringify(dashboard));
  assert.deepEqual(JSON.parse(body), same);
  const file = join(import.meta.dirname, "..", "..", "..", "docs", "monitoring", "dashboard.json");
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), same);
});
