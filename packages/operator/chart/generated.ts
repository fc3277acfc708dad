import { join } from "node:path";
import { manifestYaml } from "@lameduck/manifests";
import { admissionPolicy, defaultSettings, drainPolicyCrd } from "@lameduck/inject";
import {
  balancerRights,
  coordinatorRights,
  workloadAuditRights,
  heldDeletionRights,
  operatorRights,
  surgeRights,
} from "../src/rights.ts";
import { drainReportCrd } from "@lameduck/coordinator";
import {
  heldDeletionsConfiguration,
  mutatingConfiguration,
  surgeConfiguration,
  validatingConfiguration,
} from "@lameduck/webhook";
import { operatorNames } from "@lameduck/protocol";
import { alertsFile, monitoringTemplate } from "./alerts.ts";
import { dashboardFile, dashboardTemplate } from "./dashboard.ts";

/** The same for those who do not use the chart. */
const monitoringFiles = join(import.meta.dirname, "..", "..", "..", "docs", "monitoring");
const templates = join(import.meta.dirname, "lameduck", "templates");
const remark = "{{- /* Written by npm run render. */ -}}\n";
/** Stand for what is known when the chart is rendered. */
const namespace = "release-namespace";
const lameduckVersion = "release-version";

const rbac = "rbac.authorization.k8s.io";

/** Path and text of each part of the chart that the code determines, and of the plain files beside it. */
export function generated(): ReadonlyMap<string, string> {
  const parts: Readonly<Record<string, string>> = {
    "_rights.tpl": rights(),
    "webhooks.yaml": when("not .Values.policyOnly", [
      objectText(mutatingConfiguration({ namespace }), certified),
      objectText(validatingConfiguration({ namespace }), certified),
    ]),
    "held-deletions.yaml": when("and .Values.heldDeletions.enabled (not .Values.policyOnly)", [
      ...ofWebhook(operatorNames.heldDeletions, heldDeletionRights),
      objectText(heldDeletionsConfiguration({ namespace })),
    ]),
    "surge.yaml": when("and .Values.surge.enabled (not .Values.policyOnly)", [
      ...ofWebhook(operatorNames.surge, surgeRights),
      objectText(surgeConfiguration({ namespace })),
    ]),
    "workload-audit.yaml": when(
      "and .Values.workloadAudit.enabled (not .Values.policyOnly)",
      ofWebhook(operatorNames.workloadAudit, workloadAuditRights),
    ),
    "coordinator-access.yaml": when(
      "and .Values.acknowledgements.enabled (not .Values.policyOnly)",
      accessOf(operatorNames.coordinator.workload, coordinatorRights),
    ),
    "balancers-access.yaml": when(
      "and .Values.acknowledgements.enabled .Values.acknowledgements.balancers.enabled (not .Values.policyOnly)",
      grantOf(
        operatorNames.balancers.workload,
        operatorNames.balancers.workload,
        "ClusterRole",
        balancerRights,
      ),
    ),
    "policy.yaml": when(".Values.policyOnly", policy()),
    "crd.yaml": `${remark}${objectText(drainPolicyCrd, kept)}`,
    "dashboard.yaml": dashboardTemplate(remark),
    "monitoring.yaml": monitoringTemplate(remark),
    "drain-reports.yaml": when("not .Values.policyOnly", [objectText(drainReportCrd, kept)]),
  };
  return new Map([
    ...Object.entries(parts).map(([name, text]) => [join(templates, name), text] as const),
    [join(monitoringFiles, "alerts.yaml"), alertsFile()],
    [join(monitoringFiles, "dashboard.json"), dashboardFile()],
  ]);
}

function rights(): string {
  const { certificates, role, clusterRole } = operatorRights;
  const rules = { Certificates: certificates, Role: role, ClusterRole: clusterRole };
  const defined = Object.entries(rules).map(
    ([kind, own]) => `{{- define "lameduck.rules.${kind}" -}}\n${yaml(own)}{{- end }}\n`,
  );
  return `${remark}${defined.join("\n")}`;
}

/** A ClusterRole that the webhook's account has where a feature is on. */
function ofWebhook(name: string, rules: typeof heldDeletionRights): string[] {
  return grantOf(operatorNames.workload, name, "ClusterRole", rules);
}

/** Both roles of one process, and who has them. */
function accessOf(name: string, { role, clusterRole }: typeof coordinatorRights): string[] {
  return [...grantOf(name, name, "Role", role), ...grantOf(name, name, "ClusterRole", clusterRole)];
}

function grantOf(
  account: string,
  name: string,
  kind: "Role" | "ClusterRole",
  rules: typeof heldDeletionRights,
): string[] {
  const common = {
    apiVersion: `${rbac}/v1`,
    metadata: kind === "Role" ? { name, namespace } : { name },
  };
  const subjects = [{ kind: "ServiceAccount", name: account, namespace }];
  const roleRef = { apiGroup: rbac, kind, name };
  return [
    objectText({ ...common, kind, rules }),
    objectText({ ...common, kind: `${kind}Binding`, roleRef, subjects }),
  ];
}

const when = (condition: string, objects: readonly string[]): string =>
  `${remark}{{- if ${condition} }}\n${objects.join("---\n")}{{- end }}\n`;

/** For default settings: nothing tells Helm of DrainPolicies and nodes, as it tells `lameduck install`. */
function policy(): string[] {
  const facts = { lameduckVersion, convergenceSeconds: undefined, architectures: undefined };
  return admissionPolicy(defaultSettings, facts, { ofLameduck: namespace }).map((one) => objectText(one));
}

/** What cert-manager needs to know. */
const certified = `  {{- if .Values.certManager.enabled }}
  annotations:
    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/lameduck-webhook
  {{- end }}
`;
/** Helm leaves it where it is when the release is removed. */
const kept = `  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
`;

/** As a template, with our labels. */
function objectText(object: Readonly<Record<string, unknown>>, annotated = ""): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { name, namespace: within } = metadata as { name: string; namespace?: string };
  return `${yaml({ apiVersion, kind })}metadata:
  name: ${name}
${within === undefined ? "" : "  namespace: {{ .Release.Namespace }}\n"}  labels:
    {{- include "lameduck.labels" . | nindent 4 }}
${annotated}${yaml(rest)}`;
}

/** What is no template must not become one. */
function yaml(value: unknown): string {
  const text = manifestYaml(value);
  if (text.includes("{{")) throw new RangeError("text that Helm would take for a template");
  return text
    .replaceAll(namespace, "{{ .Release.Namespace }}")
    .replaceAll(lameduckVersion, "{{ .Chart.AppVersion }}");
}
