import type { Field } from "@lameduck/manifests";
import type { Container } from "./container.ts";
import { repositoryOf } from "./image-name.ts";
import { programOf } from "./shell/commands.ts";

/** Names of ports that only probes and scrapers ask. */
export const observedPort =
  /^(?:(?:https?|tcp)-)?(?:metrics?|prom(?:etheus)?|health(?:z|check)?|probes?|admin|pprof|profiling|debug|telemetry|monitoring|stats|exporter|webhook-metrics)(?:-.*)?$|-(?:metrics?|prom(?:etheus)?|pprof|profiling|healthz?)$/;

/** Whether only probes and scrapers ask a port of this name: that of a Prometheus server called prometheus is its own. */
export function isObserved(name: unknown, containers: readonly Pick<Container, "name" | "image">[]): boolean {
  if (typeof name !== "string" || !observedPort.test(name)) return false;
  return !containers.some(({ image = "", name: own }) =>
    [own, programOf(repositoryOf(image))].includes(name),
  );
}

/** Numbers or names of the container ports that a Service sends to. */
export function targetsOf(service: Field): (number | string | undefined)[] {
  return portsOf(service).map(targetOf);
}

/** Whether a Service leads requests to the pods: one whose ports are all for metrics or probes does not. */
export function leadsRequests(service: Field, containers: readonly Container[]): boolean {
  const ports = portsOf(service);
  const declared = containers.flatMap((container) => container.ports);
  return (
    ports.length === 0 ||
    !ports.every((port) => {
      const target = targetOf(port);
      return (
        isObserved(port.at("name").text(), containers) ||
        isObserved(target, containers) ||
        declared.some(({ name, number }) => number === target && isObserved(name, containers))
      );
    })
  );
}

function portsOf(service: Field): readonly Field[] {
  return service.at("spec").at("ports").items();
}

function targetOf(port: Field): number | string | undefined {
  return port.at("targetPort").numberOrText() ?? port.at("port").numberOrText();
}
