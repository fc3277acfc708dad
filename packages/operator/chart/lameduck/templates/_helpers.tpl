{{- define "lameduck.selector" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/component: webhook
{{- end }}

{{- define "lameduck.coordinator" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/component: coordinator
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
{{- with .Values.heldDeletions }}
{{- if and .enabled $.Values.certManager.enabled }}
{{- fail "heldDeletions needs the operator's own certificates: leave certManager off" }}
{{- end }}
{{- if .enabled -}}
- --held-deletions
- --grace-period=60s
- --hold-limit={{ .limit }}
- --hold-at-once={{ .atOnce }}
- --hold-replacement={{ .replacement }}
- --hold-eviction-limit={{ .evictionLimit }}
{{- range .exempt }}
- --hold-exempt={{ . }}
{{- end }}
{{- if $.Values.acknowledgements.enabled }}
- --coordinator-token=/var/run/secrets/lameduck/token
{{- end }}
{{- end }}
{{- end }}
{{- end }}
