import type { Container } from "../model/container.ts";
import type { Workload } from "../model/workload.ts";

/** Containers without which the app cannot do its work, by their names or images. */
const needed =
  /istio-proxy|proxyv2|linkerd-proxy|envoy|cloud-?sql-proxy|cloudsql|oauth2-proxy|pgbouncer|ambassador|nginx|haproxy|dapr|vault-agent|twemproxy|mcrouter|alloydb-auth-proxy|php|fpm|uwsgi|gunicorn|fastcgi/;
/** Containers that only lose something of their own. */
const observing =
  /fluent|filebeat|vector|promtail|otel|opentelemetry|exporter|datadog|newrelic|jaeger|statsd|logrotate|reloader/;
/** Servers that pass requests on to another container of the pod. */
const fronts =
  /(?:^|[/-])(?:nginx|openresty|haproxy|httpd|apache2?|caddy|envoy|traefik|varnish|oauth2-proxy)(?=[:@-]|$)/;

/** How much the containers that serve need another one of their pod. */
export function needOf(
  container: Container,
  serving: readonly Container[],
): "needed" | "perhaps" | "not needed" {
  const called = `${container.name} ${container.image ?? ""}`;
  if (observing.test(called)) return "not needed";
  const isBehind = serving.some(({ image = "", software }) => software !== undefined || fronts.test(image));
  return needed.test(called) || (isBehind && container.ports.length > 0) ? "needed" : "perhaps";
}

/** Ordinary containers beside those that serve, which these may need. */
export function companionsOf({ containers }: Workload, serving: readonly Container[]): readonly Container[] {
  return containers.filter((one) => !serving.includes(one) && needOf(one, serving) !== "not needed");
}
