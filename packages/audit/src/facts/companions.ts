import type { Container } from "../model/container.ts";
import { repositoryOf } from "../model/image-name.ts";
import { programOf } from "../model/shell/commands.ts";
import { frontImages, sidecarImages, sidecarNames } from "../model/sidecars.ts";
import type { Workload } from "../model/workload.ts";

/** Containers without which the app cannot do its work, by their names or the last part of their images' names. */
const needed: ReadonlySet<string> = new Set([
  ...sidecarNames,
  ...sidecarImages,
  ...frontImages,
  "ambassador",
  "php",
  "php-fpm",
  "fpm",
  "uwsgi",
  "gunicorn",
  "fastcgi",
]);
/** Servers that pass requests on to another container of the pod. */
const fronts: ReadonlySet<string> = new Set([...frontImages, ...sidecarImages]);
/** Containers that only lose something of their own. */
const observing =
  /^(?:fluent-?bit|fluentd|filebeat|vector|promtail|(?:.+-)?exporter|(?:.+-)?logrotate|(?:.+-)?reloader|(?:otel|opentelemetry|datadog|newrelic|jaeger|statsd)(?:-.+)?)$/;

/** How much the containers that serve need another one of their pod. */
export function needOf(
  container: Container,
  serving: readonly Container[],
): "needed" | "perhaps" | "not needed" {
  const called = [container.name, imageNameOf(container)];
  if (called.some((name) => observing.test(name))) return "not needed";
  const isKnown = container.software !== undefined || called.some((name) => needed.has(name));
  const isBehind = serving.some((one) => one.software !== undefined || fronts.has(imageNameOf(one)));
  return isKnown || (isBehind && container.ports.length > 0) ? "needed" : "perhaps";
}

/** Its last part, without tag and digest. */
function imageNameOf({ image = "" }: Container): string {
  return programOf(repositoryOf(image));
}

/** Ordinary containers beside those that serve, which these may need. */
export function companionsOf({ containers }: Workload, serving: readonly Container[]): readonly Container[] {
  return containers.filter((one) => !serving.includes(one) && needOf(one, serving) !== "not needed");
}
