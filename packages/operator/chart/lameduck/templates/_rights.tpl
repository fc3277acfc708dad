{{- /* Written by npm run render. */ -}}
{{- define "lameduck.rules.Certificates" -}}
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - create
- apiGroups:
    - ""
  resources:
    - secrets
  verbs:
    - get
    - list
    - watch
    - update
  resourceNames:
    - lameduck-webhook-tls
{{- end }}

{{- define "lameduck.rules.Role" -}}
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - create
- apiGroups:
    - coordination.k8s.io
  resources:
    - leases
  verbs:
    - get
    - update
  resourceNames:
    - lameduck-webhook
{{- end }}

{{- define "lameduck.rules.ClusterRole" -}}
- apiGroups:
    - ""
  resources:
    - services
    - namespaces
    - nodes
  verbs:
    - list
    - watch
- apiGroups:
    - networking.k8s.io
  resources:
    - ingresses
  verbs:
    - list
    - watch
- apiGroups:
    - gateway.networking.k8s.io
  resources:
    - httproutes
    - grpcroutes
    - tlsroutes
    - tcproutes
    - udproutes
    - referencegrants
  verbs:
    - list
    - watch
- apiGroups:
    - lameduck.dev
  resources:
    - drainpolicies
  verbs:
    - list
    - watch
- apiGroups:
    - lameduck.dev
  resources:
    - drainpolicies/status
  verbs:
    - patch
- apiGroups:
    - admissionregistration.k8s.io
  resources:
    - mutatingwebhookconfigurations
    - validatingwebhookconfigurations
  verbs:
    - list
    - watch
    - patch
  resourceNames:
    - lameduck.dev
- apiGroups:
    - ""
  resources:
    - pods
  verbs:
    - list
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - create
- apiGroups:
    - ""
  resources:
    - configmaps
  verbs:
    - list
    - patch
    - delete
  resourceNames:
    - lameduck-init
- apiGroups:
    - ""
  resources:
    - events
  verbs:
    - create
    - patch
{{- end }}
