import { withoutTemplates } from "./alerts.ts";

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

/** What the variables of the dashboard leave. */
const chosen = '{pod_namespace=~"$namespace",workload=~"$workload"}';
const ofComponent = (component: string): string =>
  `* on (job, instance) group_left (version) lameduck_build_info{component="${component}"}`;

const health: readonly Shown[] = [
  {
    title: "Replicas that are ready",
    about: "Of webhook and coordinator. None of the webhook: new pods start without the hold.",
    queries: ["webhook", "coordinator"].map(
      (one) => [`sum(lameduck_ready ${ofComponent(one)})`, one] as const,
    ),
  },
  {
    title: "Watchers and other senders that report",
    about: "Silent: reports have stopped. Missing: nobody reports for a node that is ready.",
    queries: [["max by (state) (lameduck_consumers)", "{{state}}"]],
  },
  {
    title: "Reviews",
    about: "Pods and policies that the webhook was asked about, by outcome.",
    unit: "reqps",
    queries: [["sum by (outcome) (rate(lameduck_reviews_total[$__rate_interval]))", "{{outcome}}"]],
  },
  {
    title: "Time of a review",
    about: "Without the network. The API server waits 2 s.",
    unit: "s",
    queries: histogram("lameduck_review_seconds"),
  },
  {
    title: "Days until the certificate ends",
    about: "Of 90; it is renewed when 30 are left.",
    kind: "stat",
    queries: [["(min(lameduck_certificate_expiry_timestamp_seconds) - time()) / 86400", "days"]],
  },
  {
    title: "Age of what the coordinator knows",
    about: "From 15 s on pods are answered that nothing is known.",
    unit: "s",
    queries: [["lameduck_endpoints_unheard_seconds", "{{instance}}"]],
  },
  {
    title: "Problems in the background",
    about: "By part; the logs have the words.",
    queries: [["sum by (part) (increase(lameduck_problems_total[$__rate_interval]))", "{{part}}"]],
  },
  {
    title: "Workloads that will lose requests",
    about: "Of injected namespaces, by the audit's rules.",
    kind: "stat",
    queries: [["max(lameduck_workloads_losing_requests)", "workloads"]],
  },
];

const workloads: readonly Shown[] = [
  {
    title: "Terminations by workload",
    about: "The first hundred workloads have names; the others share one.",
    queries: [
      [
        `sum by (pod_namespace, workload) (increase(lameduck_workload_drains_total${chosen}[$__rate_interval]))`,
        "{{pod_namespace}}/{{workload}}",
      ],
    ],
  },
  {
    title: "Mean hold by workload",
    about: "Of pods that reported one.",
    unit: "s",
    queries: [
      [
        `sum by (pod_namespace, workload) (rate(lameduck_workload_hold_seconds_sum${chosen}[$__rate_interval])) / sum by (pod_namespace, workload) (rate(lameduck_workload_hold_seconds_count${chosen}[$__rate_interval]))`,
        "{{pod_namespace}}/{{workload}}",
      ],
    ],
  },
  {
    title: "Killed by workload",
    about: "SIGKILL at the end of the grace period.",
    queries: [
      [
        `sum by (pod_namespace, workload) (increase(lameduck_workload_drains_total{killed="yes",pod_namespace=~"$namespace",workload=~"$workload"}[$__range]))`,
        "{{pod_namespace}}/{{workload}}",
      ],
    ],
    kind: "stat",
  },
  {
    title: "Pods that terminate now",
    about: "By what they are told, in all namespaces.",
    queries: [["max by (state) (lameduck_terminating)", "{{state}}"]],
  },
];

const ends: readonly Shown[] = [
  {
    title: "Hold",
    about: "How long pods held, as they reported it.",
    unit: "s",
    queries: histogram("lameduck_drain_hold_seconds"),
  },
  {
    title: "Stop after the release",
    about: "From the moment every sender had stopped sending until the pod stopped accepting.",
    unit: "s",
    queries: histogram("lameduck_drain_hold_after_release_seconds"),
  },
  {
    title: "Release",
    about: "From the deletion until every sender had stopped sending.",
    unit: "s",
    queries: histogram("lameduck_drain_release_seconds"),
  },
  {
    title: "Time until senders stop sending, p99",
    about: "From the withdrawal of a pod until senders of a kind reported it.",
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
    about: "A connection came after the pod was released.",
    kind: "stat",
    queries: [["sum(increase(lameduck_drains_overruled_total[$__range]))", "overruled"]],
  },
  {
    title: "Senders at the end",
    about: "How far senders had come when the pod ended.",
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
const rowHeight = 1;

const sections: readonly (readonly [title: string, panels: readonly Shown[]])[] = [
  ["Health of webhook, coordinator and watchers", health],
  ["Namespace and workload", workloads],
  ["How pods end, all namespaces", ends],
];

const datasource = { type: "prometheus", uid: "${datasource}" } as const;

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
  readonly [field: string]: unknown;
}

/** Each section is a row of Grafana over its panels. */
function laidOut(): Panel[] {
  const all: Panel[] = [];
  let top = 0;
  for (const [title, shown] of sections) {
    const gridPos = { w: columns * size.w, h: rowHeight, x: 0, y: top };
    all.push({ id: all.length + 1, title, type: "row", collapsed: false, gridPos, panels: [], targets: [] });
    top += rowHeight;
    for (const [index, one] of shown.entries())
      all.push({
        id: all.length + 1,
        title: one.title,
        description: one.about,
        type: one.kind ?? "timeseries",
        datasource,
        gridPos: {
          ...size,
          x: (index % columns) * size.w,
          y: top + Math.floor(index / columns) * size.h,
        },
        fieldConfig: { defaults: { unit: one.unit ?? "short", min: 0 }, overrides: [] },
        targets: one.queries.map(([expr, legendFormat], target) => ({
          refId: String.fromCharCode(65 + target),
          expr,
          legendFormat,
          datasource,
        })),
      });
    top += Math.ceil(shown.length / columns) * size.h;
  }
  return all;
}

const variable = (name: string, label: string, query: string) => ({
  name,
  label,
  type: "query",
  datasource,
  query: { query, refId: name },
  definition: query,
  refresh: 2,
  multi: true,
  includeAll: true,
  allValue: ".*",
  current: { text: "All", value: "$__all" },
});

/** For Grafana, as its sidecar loads it. */
export const dashboard = {
  uid: "lameduck",
  title: "Lameduck",
  tags: ["lameduck", "kubernetes"],
  schemaVersion: 39,
  editable: true,
  time: { from: "now-6h", to: "now" },
  refresh: "1m",
  templating: {
    list: [
      { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
      variable("namespace", "Namespace", "label_values(lameduck_workload_drains_total, pod_namespace)"),
      variable(
        "workload",
        "Workload",
        'label_values(lameduck_workload_drains_total{pod_namespace=~"$namespace"}, workload)',
      ),
    ],
  },
  panels: laidOut(),
} as const;

/** The file that Grafana imports. */
export const dashboardFile = (): string => `${JSON.stringify(dashboard, undefined, 2)}\n`;

/** A template: Grafana's own braces must not be Helm's. */
export function dashboardTemplate(remark: string): string {
  const json = withoutTemplates(JSON.stringify(dashboard, undefined, 2));
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
