import type { Container } from "../model/container.ts";
import { endsByItself } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { isObserved, targetsOf } from "../model/ports.ts";
import { annotation } from "./facts.ts";

/** Whether requests come to the pods. */
export type Exposure =
  /** A Service of the input selects them. */
  | "service"
  /** No Service of the input leads to them, but they declare ports: the Service may be elsewhere. */
  | "ports"
  /** Nothing in the input says that they get requests. */
  | "none";

export function exposureOf(workload: Workload): Exposure {
  const serves = annotation(workload, "serves").text();
  if (serves === "false") return "none";
  if (workload.services.length > 0) return "service";
  if (serves === "true") return "ports";
  if (endsByItself(workload.object.kind)) return "none";
  const scraped = workload.scraped.flatMap(({ field }) => targetsOf(field));
  const { containers } = workload;
  const ports = containers.flatMap((container) => container.ports);
  return ports.some(({ name, number }) => !scraped.includes(number) && !isObserved(name, containers))
    ? "ports"
    : "none";
}

/** The containers to which requests go first. */
export function servingContainers(workload: Workload): readonly Container[] {
  const { containers } = workload;
  if (containers.length === 1) return containers;
  const targets = workload.services.flatMap(({ field }) => targetsOf(field));
  const targeted = containers.filter(({ ports }) =>
    ports.some(
      ({ name, number }) => targets.includes(number) || (name !== undefined && targets.includes(name)),
    ),
  );
  if (targeted.length > 0) return targeted;
  const listening = containers.filter(({ ports }) => ports.length > 0);
  return listening.length > 0 ? listening : containers.slice(0, 1);
}
