{{- define "lameduck.selector" -}}
app.kubernetes.io/name: lameduck
app.kubernetes.io/component: webhook
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
