import { join } from "node:path";
import {
  drainPolicyCrd,
  mutatingConfiguration,
  operatorRights,
  validatingConfiguration,
} from "@lameduck/operator";
import { stringify } from "yaml";

const templates = join(import.meta.dirname, "lameduck", "templates");
const remark = "{{- /* Written by packages/operator/chart/generate.ts. */ -}}\n";
/** Stands for the namespace of the release until it is known. */
const namespace = "release-namespace";

/** Path and text of each part of the chart that the code determines. */
export function generated(): ReadonlyMap<string, string> {
  const parts: Readonly<Record<string, string>> = {
    "_rights.tpl": rights(),
    "webhooks.yaml": unlessPolicyOnly([
      mutatingConfiguration({ namespace }),
      validatingConfiguration({ namespace }),
    ]),
    "crd.yaml": `${remark}${objectText(drainPolicyCrd)}`,
  };
  return new Map(Object.entries(parts).map(([name, text]) => [join(templates, name), text]));
}

function rights(): string {
  const rules = { Role: operatorRights.role, ClusterRole: operatorRights.clusterRole };
  const defined = Object.entries(rules).map(
    ([kind, own]) => `{{- define "lameduck.rules.${kind}" -}}\n${yaml(own)}{{- end }}\n`,
  );
  return `${remark}${defined.join("\n")}`;
}

const unlessPolicyOnly = (objects: readonly Readonly<Record<string, unknown>>[]): string =>
  `${remark}{{- if not .Values.policyOnly }}\n${objects.map((one) => objectText(one, true)).join("---\n")}{{- end }}\n`;

/** As a template: with our labels, and what cert-manager needs to know. */
function objectText(object: Readonly<Record<string, unknown>>, certified = false): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { name } = metadata as { name: string };
  const annotated = certified
    ? `  {{- if .Values.certManager.enabled }}
  annotations:
    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/lameduck-webhook
  {{- end }}
`
    : "";
  return `${yaml({ apiVersion, kind })}metadata:
  name: ${name}
  labels:
    {{- include "lameduck.labels" . | nindent 4 }}
${annotated}${yaml(rest)}`;
}

/** What is no template must not become one. */
function yaml(value: unknown): string {
  const text = stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
  if (text.includes("{{")) throw new RangeError("text that Helm would take for a template");
  return text.replaceAll(namespace, "{{ .Release.Namespace }}");
}
