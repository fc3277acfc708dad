{{- define "lameduck.selector" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/component: webhook
{{- end }}

{{- define "lameduck.coordinator" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/component: coordinator
{{- end }}

{{- /* Replicas of one revision: in a rollout the old ones must not keep the new from their nodes. */}}
{{- define "lameduck.term" -}}
topologyKey: kubernetes.io/hostname
labelSelector:
  matchLabels:
    {{- . | nindent 4 }}
matchLabelKeys: [pod-template-hash]
{{- end }}

{{- define "lameduck.affinity" -}}
{{- if eq .kind "required" -}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    -
      {{- include "lameduck.term" .selector | nindent 6 }}
{{- else if eq .kind "preferred" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        {{- include "lameduck.term" .selector | nindent 8 }}
{{- end }}
{{- end }}

{{- define "lameduck.labels" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "lameduck.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "lameduck.holding" -}}
{{- if and (or .Values.heldDeletions.enabled .Values.surge.enabled) .Values.certManager.enabled }}
{{- fail "heldDeletions and surge need the operator's own certificates: leave certManager off" }}
{{- end }}
{{- if .Values.surge.enabled }}
- --surge
- --surge-replacement={{ .Values.surge.replacement }}
{{- end }}
{{- with .Values.heldDeletions }}
{{- if .enabled }}
- --held-deletions
- --grace-period=60s
- --hold-limit={{ .limit }}
- --hold-at-once={{ .atOnce }}
- --hold-replacement={{ .replacement }}
- --hold-eviction-limit={{ .evictionLimit }}
{{- if .nodeShutdowns }}
- --node-shutdowns
{{- end }}
{{- range .exempt }}
- --hold-exempt={{ . }}
{{- end }}
{{- if $.Values.acknowledgements.enabled }}
- --coordinator-token=/var/run/secrets/lameduck/token
{{- end }}
{{- end }}
{{- end }}
{{- end }}
