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
    - ingressclasses
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
    - cilium.io
  resources:
    - ciliumenvoyconfigs
    - ciliumclusterwideenvoyconfigs
  verbs:
    - list
    - watch
- apiGroups:
    - ingress.v1.haproxy.org
  resources:
    - tcps
  verbs:
    - list
    - watch
- apiGroups:
    - ingress.v3.haproxy.org
  resources:
    - tcps
  verbs:
    - list
    - watch
- apiGroups:
    - k8s.nginx.org
  resources:
    - virtualservers
    - virtualserverroutes
    - transportservers
  verbs:
    - list
    - watch
- apiGroups:
    - gateway.envoyproxy.io
  resources:
    - securitypolicies
    - envoyextensionpolicies
  verbs:
    - list
    - watch
- apiGroups:
    - traefik.io
  resources:
    - ingressroutes
    - ingressroutetcps
    - ingressrouteudps
    - traefikservices
    - middlewares
  verbs:
    - list
    - watch
- apiGroups:
    - traefik.containo.us
  resources:
    - ingressroutes
    - ingressroutetcps
    - ingressrouteudps
    - traefikservices
    - middlewares
  verbs:
    - list
    - watch
- apiGroups:
    - zalando.org
  resources:
    - routegroups
  verbs:
    - list
    - watch
- apiGroups:
    - networking.istio.io
  resources:
    - virtualservices
    - destinationrules
    - serviceentries
  verbs:
    - list
    - watch
- apiGroups:
    - elbv2.k8s.aws
  resources:
    - targetgroupbindings
  verbs:
    - list
    - watch
- apiGroups:
    - eks.amazonaws.com
  resources:
    - targetgroupbindings
  verbs:
    - list
    - watch
- apiGroups:
    - networking.gke.io
  resources:
    - servicenetworkendpointgroups
  verbs:
    - list
    - watch
- apiGroups:
    - projectcontour.io
  resources:
    - httpproxies
    - extensionservices
  verbs:
    - list
    - watch
- apiGroups:
    - split.smi-spec.io
  resources:
    - trafficsplits
  verbs:
    - list
    - watch
- apiGroups:
    - configuration.konghq.com
  resources:
    - tcpingresses
    - udpingresses
  verbs:
    - list
    - watch
- apiGroups:
    - incubator.ingress-controller.konghq.com
  resources:
    - kongservicefacades
  verbs:
    - list
    - watch
- apiGroups:
    - apisix.apache.org
  resources:
    - apisixroutes
  verbs:
    - list
    - watch
- apiGroups:
    - getambassador.io
  resources:
    - mappings
    - tcpmappings
    - authservices
    - ratelimitservices
    - logservices
    - tracingservices
  verbs:
    - list
    - watch
- apiGroups:
    - gloo.solo.io
  resources:
    - upstreams
  verbs:
    - list
    - watch
- apiGroups:
    - gateway.solo.io
  resources:
    - virtualservices
    - routetables
    - gateways
  verbs:
    - list
    - watch
- apiGroups:
    - route.openshift.io
  resources:
    - routes
  verbs:
    - list
    - watch
- apiGroups:
    - networking.internal.knative.dev
  resources:
    - ingresses
  verbs:
    - list
    - watch
- apiGroups:
    - cis.f5.com
  resources:
    - virtualservers
    - transportservers
  verbs:
    - list
    - watch
- apiGroups:
    - multicluster.x-k8s.io
  resources:
    - serviceexports
  verbs:
    - list
    - watch
- apiGroups:
    - net.gke.io
  resources:
    - serviceexports
  verbs:
    - list
    - watch
- apiGroups:
    - application-networking.k8s.aws
  resources:
    - serviceexports
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
