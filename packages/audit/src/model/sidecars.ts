/** Servers that pass requests on to other containers of their pod, by their programs, and by the last part of their images' names. */
export const frontPrograms: readonly string[] = [
  "nginx",
  "openresty",
  "haproxy",
  "httpd",
  "httpd-foreground",
  "apache2",
  "apache2-foreground",
  "caddy",
  "traefik",
  "varnishd",
];
export const frontImages: readonly string[] = [
  "nginx",
  "nginx-unprivileged",
  "openresty",
  "haproxy",
  "haproxy-alpine",
  "httpd",
  "caddy",
  "traefik",
  "varnish",
];

/** Containers that serve the pod's app, by name, and images of them, by the last part of their name. */
export const sidecarNames: readonly string[] = [
  "istio-proxy",
  "linkerd-proxy",
  "envoy-sidecar",
  "envoy",
  "consul-dataplane",
  "kuma-sidecar",
  "aws-app-mesh-envoy",
  "cloud-sql-proxy",
  "cloudsql-proxy",
  "alloydb-auth-proxy",
  "oauth2-proxy",
  "pgbouncer",
  "daprd",
  "vault-agent",
  "twemproxy",
  "mcrouter",
];
export const sidecarImages: readonly string[] = [
  "proxyv2",
  "envoy",
  "linkerd-proxy",
  "consul-dataplane",
  "kuma-dp",
  "cloud-sql-proxy",
  "gce-proxy",
  "alloydb-auth-proxy",
  "oauth2-proxy",
  "pgbouncer",
  "daprd",
];
