import type { Field } from "@lameduck/manifests";
import type { Container } from "./container.ts";

/** Names of ports that only probes and scrapers ask. */
export const observedPort =
  /^(?:(?:https?|tcp)-)?(?:metrics?|prom(?:etheus)?|health(?:z|check)?|probes?|admin|pprof|debug|telemetry|monitoring|stats|exporter|webhook-metrics)(?:-.*)?$|-(?:metrics?|prom(?:etheus)?|pprof|healthz?)$/;

/** Numbers or names of the container ports that a Service sends to. */
export function targetsOf(service: Field): (number | string | undefined)[] {
  return portsOf(service).map(targetOf);
}

/** Whether a Service leads requests to the pods: one whose ports are all for metrics or probes does not. */
export function leadsRequests(service: Field, containers: readonly Container[]): boolean {
  const ports = portsOf(service);
  const isObserved = (name: unknown): boolean => typeof name === "string" && observedPort.test(name);
  const declared = containers.flatMap((container) => container.ports);
  return (
    ports.length === 0 ||
    !ports.every((port) => {
      const target = targetOf(port);
      return (
        isObserved(port.at("name").text()) ||
        isObserved(target) ||
        declared.some(({ name, number }) => number === target && isObserved(name))
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
