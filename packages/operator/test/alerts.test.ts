import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parse, parseAllDocuments, stringify } from "yaml";
import { alertGroups, alertPage, alertsFile, withoutTemplates } from "../chart/alerts.ts";
import { exported, unknownIn } from "./metrics-shown.ts";

const docs = join(import.meta.dirname, "..", "..", "..", "docs");
const alerts = alertGroups.flatMap(({ rules }) => rules);
const directory = mkdtempSync(join(tmpdir(), "lameduck-alerts-"));
after(() => rmSync(directory, { recursive: true }));
const rules = join(directory, "alerts.yaml");
writeFileSync(rules, alertsFile());

interface Series {
  readonly series: string;
  readonly values: string;
}
const webhook = 'job="a",instance="w"';
const coordinator = 'job="a",instance="c"';
const killed = (yes: string, no: string): Series[] => [
  { series: `lameduck_drains_killed_total{killed="yes",${coordinator}}`, values: yes },
  { series: `lameduck_drains_killed_total{killed="no",${coordinator}}`, values: no },
];

/** An installation in which all is well, minute by minute, for two hours. */
const well: readonly Series[] = [
  { series: `lameduck_ready{${webhook}}`, values: "1x120" },
  { series: `lameduck_build_info{component="webhook",version="1",${webhook}}`, values: "1x120" },
  { series: `lameduck_tls_failures_total{${webhook}}`, values: "0x120" },
  { series: `lameduck_reviews_total{path="/pods",outcome="injected",${webhook}}`, values: "0+1x120" },
  { series: `lameduck_certificate_expiry_timestamp_seconds{${webhook}}`, values: "7776000x120" },
  { series: `lameduck_ready{${coordinator}}`, values: "1x120" },
  { series: `lameduck_build_info{component="coordinator",version="1",${coordinator}}`, values: "1x120" },
  { series: `lameduck_endpoints_unheard_seconds{${coordinator}}`, values: "3x120" },
  { series: `lameduck_drain_events_total{reason="DrainConsumerStuck",${coordinator}}`, values: "0x120" },
  { series: `lameduck_consumers{state="reporting",${coordinator}}`, values: "5x120" },
  { series: `lameduck_consumers{state="silent",${coordinator}}`, values: "0x120" },
  { series: `lameduck_consumers{state="missing",${coordinator}}`, values: "0x120" },
  { series: `lameduck_drains_overruled_total{${coordinator}}`, values: "0x120" },
  ...killed("0x120", "0+1x120"),
];

/** What goes wrong, and the alerts that must come of it after two hours. */
const situations: readonly (readonly [what: string, wrong: readonly Series[], fires: readonly string[]])[] = [
  ["all is well", [], []],
  [
    "no replica of the webhook is ready; the coordinator's is",
    [{ series: `lameduck_ready{${webhook}}`, values: "0x120" }],
    ["LameduckWebhookDown"],
  ],
  [
    "the webhook is not scraped any more",
    well.filter(({ series }) => series.includes(webhook)).map((one) => ({ ...one, values: "1x60 stale" })),
    ["LameduckWebhookDown"],
  ],
  [
    "the API server does not trust the certificate",
    [
      { series: `lameduck_tls_failures_total{${webhook}}`, values: "0+1x120" },
      { series: `lameduck_reviews_total{path="/pods",outcome="injected",${webhook}}`, values: "9x120" },
    ],
    ["LameduckWebhookNotTrusted"],
  ],
  [
    "somebody without TLS connects beside reviews",
    [{ series: `lameduck_tls_failures_total{${webhook}}`, values: "0+1x120" }],
    [],
  ],
  [
    "the certificate is not renewed",
    [{ series: `lameduck_certificate_expiry_timestamp_seconds{${webhook}}`, values: "500000x120" }],
    ["LameduckCertificateExpires"],
  ],
  [
    "the coordinator is cut off from the API server",
    [{ series: `lameduck_endpoints_unheard_seconds{${coordinator}}`, values: "0+60x120" }],
    ["LameduckCoordinatorDown"],
  ],
  [
    "a proxy never stops sending",
    [
      {
        series: `lameduck_drain_events_total{reason="DrainConsumerStuck",${coordinator}}`,
        values: "0x115 1x4",
      },
    ],
    ["LameduckSenderNeverStops"],
  ],
  [
    "a node has no watcher",
    [{ series: `lameduck_consumers{state="missing",${coordinator}}`, values: "1x120" }],
    ["LameduckWatchersSilent"],
  ],
  ["every third pod is killed", killed("0+1x120", "0+2x120"), ["LameduckPodsKilled"]],
  ["one of three pods is killed", killed("0x110 1x9", "0x110 2x9"), []],
  [
    "senders that nobody sees connect after releases",
    [{ series: `lameduck_drains_overruled_total{${coordinator}}`, values: "0+1x120" }],
    ["LameduckReleasesOverruled"],
  ],
];

const isPromtoolThere = spawnSync("promtool", ["--version"]).error === undefined;
const promtool = (...args: string[]): void => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8", cwd: directory });
  assert.equal(status, 0, `${stdout}${stderr}`);
};

describe("alerts", () => {
  it("name only metrics and labels that are exported", () => {
    const known = exported();
    for (const { alert, expr } of alerts) assert.deepEqual(unknownIn(expr, known), [], alert);
  });

  it("each has a heading on the page that it names, and says what to do", () => {
    const page = readFileSync(join(docs, "operate", "alerts.md"), "utf8");
    const headings = [...page.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading);
    assert.deepEqual(
      headings,
      alerts.map(({ alert }) => alert),
    );
    for (const { alert, summary, description } of alerts) {
      assert.equal(alertPage(alert), `docs/operate/alerts.md#${alert.toLowerCase()}`);
      assert.match(summary, /[.]$/);
      assert.match(description, /[.]$/);
    }
  });

  it("are the same in the plain files as in the code, braces of Prometheus' included", () => {
    const plain = parse(readFileSync(join(docs, "monitoring", "alerts.yaml"), "utf8")) as { groups: unknown };
    assert.deepEqual(plain, parse(alertsFile()));
    const [monitor, rule] = parseAllDocuments(
      readFileSync(join(docs, "monitoring", "prometheus-operator.yaml"), "utf8"),
    ).map((one) => one.toJS() as { kind: string; spec: { groups?: unknown } });
    assert.deepEqual([monitor?.kind, rule?.kind], ["PodMonitor", "PrometheusRule"]);
    assert.deepEqual(rule?.spec.groups, plain.groups);
    assert.equal(withoutTemplates("{{ $value }}"), "{{`{{`}} $value {{`}}`}}");
  });

  it("are rules of Prometheus, by its own promtool", (t) => {
    if (!isPromtoolThere) return t.skip("promtool is not here; on Debian: apt-get install prometheus");
    promtool("check", "rules", rules);
  });

  it("fire where they should and nowhere else, by Prometheus' own evaluation", (t) => {
    if (!isPromtoolThere) return t.skip("promtool is not here; on Debian: apt-get install prometheus");
    const tests = situations.map(([name, wrong, fires]) => ({
      name,
      interval: "1m",
      input_series: [
        ...wrong,
        ...well.filter(({ series }) => !wrong.some((other) => other.series === series)),
      ],
      promql_expr_test: [
        {
          expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: "2h",
          exp_samples: fires.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
        },
      ],
    }));
    const file = join(directory, "tests.yaml");
    writeFileSync(
      file,
      stringify({ rule_files: [rules], evaluation_interval: "1m", tests }, { aliasDuplicateObjects: false }),
    );
    promtool("test", "rules", file);
    const untried = alerts.filter(({ alert }) => !situations.some(([, , fires]) => fires.includes(alert)));
    assert.deepEqual(untried, []);
  });
});
