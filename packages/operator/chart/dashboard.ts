/** What one panel shows. */
interface Shown {
  readonly title: string;
  readonly about: string;
  readonly unit?: "s" | "short" | "reqps";
  readonly kind?: "timeseries" | "stat";
  /** Query and legend. */
  readonly queries: readonly (readonly [query: string, legend: string])[];
}

const quantiles = [0.5, 0.9, 0.99] as const;

const histogram = (metric: string): Shown["queries"] =>
  quantiles.map((quantile) => [
    `histogram_quantile(${quantile}, sum by (le) (rate(${metric}_bucket[$__rate_interval])))`,
    `p${quantile * 100}`,
  ]);

const increase = (metric: string, by: string): Shown["queries"] => [
  [`sum by (${by}) (increase(${metric}[$__range]))`, `{{${by}}}`],
];

const panels: readonly Shown[] = [
  {
    title: "Hold",
    about: "How long pods held, as they reported it.",
    unit: "s",
    queries: histogram("lameduck_drain_hold_seconds"),
  },
  {
    title: "Stop after the release",
    about: "From the moment every consumer had let go until the pod stopped accepting.",
    unit: "s",
    queries: histogram("lameduck_drain_hold_after_release_seconds"),
  },
  {
    title: "Release",
    about: "From the deletion until every consumer had let go.",
    unit: "s",
    queries: histogram("lameduck_drain_release_seconds"),
  },
  {
    title: "Convergence of consumers, p99",
    about: "From the withdrawal of a pod until consumers of a kind reported it.",
    unit: "s",
    queries: [
      [
        "histogram_quantile(0.99, sum by (le, kind) (rate(lameduck_consumer_convergence_seconds_bucket[$__rate_interval])))",
        "{{kind}}",
      ],
    ],
  },
  {
    title: "Stop reasons",
    about: "Why holds ended.",
    unit: "short",
    queries: [["sum by (reason) (increase(lameduck_drains_total[$__rate_interval]))", "{{reason}}"]],
  },
  {
    title: "What a stop at SIGTERM would have put at risk",
    about: "Requests and connections that came during holds.",
    unit: "reqps",
    queries: [["sum by (what) (rate(lameduck_drain_at_risk_total[$__rate_interval]))", "{{what}}"]],
  },
  {
    title: "Killed",
    about: "SIGKILL at the end of the grace period; unknown where no exit was seen.",
    kind: "stat",
    queries: increase("lameduck_drains_killed_total", "killed"),
  },
  {
    title: "Overruled",
    about: "A connection came after every consumer had reported that it let go.",
    kind: "stat",
    queries: [["sum(increase(lameduck_drains_overruled_total[$__range]))", "overruled"]],
  },
  {
    title: "Consumers at the end",
    about: "How far consumers had come when the pod ended.",
    kind: "stat",
    queries: increase("lameduck_drain_consumers_total", "state"),
  },
  {
    title: "Records",
    about: "Refused and dropped ones are missing among the reports.",
    kind: "stat",
    queries: [
      ...increase("lameduck_drain_reports_total", "outcome"),
      ["max(lameduck_drain_reports)", "kept"],
    ],
  },
];

const columns = 2;
const size = { w: 12, h: 8 };

/** For Grafana, as its sidecar loads it. */
export const dashboard = {
  uid: "lameduck",
  title: "Lameduck: how pods end",
  tags: ["lameduck", "kubernetes"],
  schemaVersion: 39,
  editable: true,
  time: { from: "now-6h", to: "now" },
  refresh: "1m",
  templating: {
    list: [{ name: "datasource", label: "Data source", type: "datasource", query: "prometheus" }],
  },
  panels: panels.map(({ title, about, unit = "short", kind = "timeseries", queries }, index) => ({
    id: index + 1,
    title,
    description: about,
    type: kind,
    datasource: { type: "prometheus", uid: "${datasource}" },
    gridPos: { ...size, x: (index % columns) * size.w, y: Math.floor(index / columns) * size.h },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: queries.map(([expr, legendFormat], target) => ({
      refId: String.fromCharCode(65 + target),
      expr,
      legendFormat,
      datasource: { type: "prometheus", uid: "${datasource}" },
    })),
  })),
} as const;

/** A template: Grafana's own braces must not be Helm's. */
export function dashboardTemplate(remark: string): string {
  const json = JSON.stringify(dashboard, undefined, 2)
    .replaceAll("{{", "\u0000")
    .replaceAll("}}", "\u0001")
    .replaceAll("\u0000", "{{`{{`}}")
    .replaceAll("\u0001", "{{`}}`}}");
  const lines = json.split("\n").map((line) => `    ${line}`);
  return `${remark}{{- if and .Values.dashboard.enabled (not .Values.policyOnly) }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: lameduck-dashboard
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "lameduck.labels" . | nindent 4 }}
    {{- toYaml .Values.dashboard.labels | nindent 4 }}
data:
  lameduck.json: |
${lines.join("\n")}
{{- end }}
`;
}
