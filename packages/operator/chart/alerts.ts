import { manifestYaml } from "@lameduck/manifests";

/** One rule. Lameduck fails open, so that none of them says that pods cannot start: they say that requests are lost again. */
interface Alert {
  readonly alert: string;
  readonly expr: string;
  /** How long it must be so. */
  readonly for: string;
  /** `critical` is worth waking somebody: each rollout loses requests until it is mended. */
  readonly severity: "critical" | "warning";
  readonly summary: string;
  /** What to do. */
  readonly description: string;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Alert[];
}

const webhook: readonly Alert[] = [
  {
    alert: "LameduckWebhookDown",
    // Both programs have lameduck_ready; only lameduck_build_info says whose it is.
    expr: 'absent(lameduck_ready == 1 and on (job, instance) lameduck_build_info{component="webhook"})',
    for: "5m",
    severity: "critical",
    summary: "No replica of Lameduck's webhook is ready: new pods start without the hold.",
    description:
      "Run `lameduck status`; it says why replicas are not ready. Restart the workloads that it lists, once the webhook is back.",
  },
  {
    alert: "LameduckWebhookNotTrusted",
    expr: "sum(increase(lameduck_tls_failures_total[15m])) > 3 unless sum(increase(lameduck_reviews_total[15m])) > 0",
    for: "5m",
    severity: "critical",
    summary:
      "TLS handshakes with Lameduck's webhook fail and no review succeeds: new pods start without the hold.",
    description:
      "Run `lameduck status`. Compare caBundle of the webhook configuration lameduck.dev with the Secret of the certificate; with cert-manager look at its CA injector.",
  },
  {
    alert: "LameduckCertificateExpires",
    expr: "min(lameduck_certificate_expiry_timestamp_seconds) - time() < 7 * 86400",
    for: "1h",
    severity: "critical",
    summary: "The certificate of Lameduck's webhook ends within a week, or there is none.",
    description:
      "It should have been renewed weeks ago. Read the webhook's log for `certificate`, and whether its account may write the Secret; with cert-manager describe Certificate lameduck-webhook.",
  },
];

const acknowledgements: readonly Alert[] = [
  {
    alert: "LameduckCoordinatorDown",
    // From 15 s on pods are answered that nothing is known.
    expr: "absent(lameduck_endpoints_unheard_seconds < 60 and on (job, instance) lameduck_ready == 1)",
    for: "5m",
    severity: "critical",
    summary:
      "No coordinator of Lameduck is ready and up to date: pods decide by their own evidence, or hold to their cap in mode `consistency`.",
    description:
      "Run `lameduck status`, and read the coordinator's log. It must reach the API server, and may need more memory in a large cluster.",
  },
  {
    alert: "LameduckSenderNeverStops",
    expr: 'sum(increase(lameduck_drain_events_total{reason="DrainConsumerStuck"}[15m])) > 0',
    for: "0m",
    severity: "critical",
    summary: "A proxy or balancer still sends to pods that are gone: it loses these requests now.",
    description:
      "`lameduck report --since 1h` names it (`still sending`). Look at that proxy's log; a restart makes it read its endpoints again.",
  },
  {
    alert: "LameduckWatchersSilent",
    expr: 'max by (state) (lameduck_consumers{state=~"silent|missing"}) > 0',
    for: "15m",
    severity: "warning",
    summary:
      "{{ $value }} watchers or proxies of Lameduck are {{ $labels.state }}: pods wait for them in vain, then decide by themselves.",
    description:
      "`lameduck status` names the nodes. Read the logs of DaemonSet lameduck-watcher on them, and of the proxies that report themselves.",
  },
  {
    alert: "LameduckPodsKilled",
    expr: 'sum(increase(lameduck_drains_killed_total{killed="yes"}[1h])) / sum(increase(lameduck_drains_killed_total[1h])) > 0.1 and sum(increase(lameduck_drains_killed_total{killed="yes"}[1h])) > 2',
    for: "0m",
    severity: "warning",
    summary:
      "{{ $value | humanizePercentage }} of the pods that ended in an hour were killed at the end of their grace period.",
    description:
      "`lameduck report --since 1h` names them, and `lameduck why POD` says what one waits for. Give them a longer grace period, or mend the program that does not stop.",
  },
  {
    alert: "LameduckReleasesOverruled",
    // On the project's test cluster 4 % are usual: callers that dial a pod's address themselves.
    expr: "sum(increase(lameduck_drains_overruled_total[1h])) / sum(increase(lameduck_drains_killed_total[1h])) > 0.2 and sum(increase(lameduck_drains_overruled_total[1h])) > 2",
    for: "0m",
    severity: "warning",
    summary:
      "{{ $value | humanizePercentage }} of the pods that ended in an hour got new connections after all known senders had stopped.",
    description:
      "Somebody sends whom Lameduck does not see. Event DrainOverruled names the address, and `lameduck check` the senders for which nobody reports.",
  },
];

/** In two groups: without acknowledgements there is no coordinator whose absence means anything. */
export const alertGroups: readonly [Group, Group] = [
  { name: "lameduck-webhook", rules: webhook },
  { name: "lameduck-acknowledgements", rules: acknowledgements },
];

/** Where the page of an alert stands. There is no homepage that a URL could name. */
export const alertPage = (name: string): string => `docs/operate/alerts.md#${name.toLowerCase()}`;

const ruleOf = ({ alert, expr, for: lasting, severity, summary, description }: Alert) => ({
  alert,
  expr,
  for: lasting,
  labels: { severity },
  annotations: { summary, description, page: alertPage(alert) },
});

const groupText = ({ name, rules }: Group): string => manifestYaml([{ name, rules: rules.map(ruleOf) }]);

/** For `rule_files` of a Prometheus without its operator. */
export function alertsFile(): string {
  const [first, second] = alertGroups;
  return `# Written by npm run render: rules for Prometheus' rule_files. docs/operate/alerts.md explains each.
groups:
${indented(groupText(first), 2)}  # Without acknowledgements leave this group out: there is no coordinator.
${indented(groupText(second), 2)}`;
}

function indented(text: string, by: number): string {
  return text.replace(/^(?=.)/gm, " ".repeat(by));
}

/** Prometheus' own braces must not be Helm's. */
export function withoutTemplates(text: string): string {
  return text
    .replaceAll("{{", "\u0000")
    .replaceAll("}}", "\u0001")
    .replaceAll("\u0000", "{{`{{`}}")
    .replaceAll("\u0001", "{{`}}`}}");
}

const head = (kind: string, values: string): string => `apiVersion: monitoring.coreos.com/v1
kind: ${kind}
metadata:
  name: lameduck
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "lameduck.labels" . | nindent 4 }}
    {{- with .Values.${values}.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
`;

/**
 * For the Prometheus operator. It scrapes pods and not Services, so that each replica is a target of its own, one that is not ready as well.
 * Watchers have no port: what is heard of them stands in the coordinator's metrics.
 */
export function monitoringTemplate(remark: string): string {
  const [first, second] = alertGroups.map((group) => indented(withoutTemplates(groupText(group)), 4));
  return `${remark}{{- if and .Values.podMonitor.enabled (not .Values.policyOnly) }}
${head("PodMonitor", "podMonitor")}spec:
  selector:
    matchLabels:
      app.kubernetes.io/name: lameduck
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: [webhook, coordinator] }
  podMetricsEndpoints:
    - port: metrics
{{- end }}
{{- if and .Values.alerts.enabled (not .Values.policyOnly) }}
---
${head("PrometheusRule", "alerts")}spec:
  groups:
${first}
    {{- if .Values.acknowledgements.enabled }}
${second}
    {{- end }}
{{- end }}
`;
}
