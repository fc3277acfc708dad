import type { Field } from "../field.ts";
import { readPort } from "./handlers.ts";
import type { PodTemplate } from "./template.ts";

/** Where senders reach the pods: the first TCP port of the Service that selects them, else the first port that they declare. */
export function readServingPort(
  services: readonly Field[],
  pod: Omit<PodTemplate, "port">,
  workload: Field,
): number {
  const ports = [...pod.containers, ...pod.initContainers].flatMap((container) => container.ports);
  const selecting = services.filter((service) => selects(service, pod.labels));
  for (const service of services)
    if (!selecting.includes(service)) service.at("spec").warn("selects other pods");
  const [service, ...more] = selecting;
  for (const other of more)
    other.at("metadata").warn("is left out: senders use the first Service of the file");
  const served = service?.at("spec").at("ports").items().find(isTcp);
  if (served) {
    const target = served.at("targetPort");
    return readPort(target.exists ? target : served.at("port"), ports);
  }
  const declared = ports[0]?.port ?? probedPort(pod);
  return declared ?? workload.fail("LAMEDUCK_MANIFEST_NO_PORT", "nothing says on which port its pods serve");
}

function selects(service: Field, labels: Readonly<Record<string, string>>): boolean {
  const wanted = Object.entries(service.at("spec").at("selector").textMap());
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}

function isTcp(port: Field): boolean {
  return (port.at("protocol").text() ?? "TCP") === "TCP";
}

/** A pod need not declare its ports: the port of a readiness probe counts, too. */
function probedPort(pod: Omit<PodTemplate, "port">): number | undefined {
  for (const { readiness } of pod.containers)
    if (readiness && "port" in readiness.handler) return readiness.handler.port;
  return undefined;
}
