import { kinds } from "@lameduck/senders";
import { assumed, type Amount } from "../model/amount.ts";
import { annotationOf, namespaceOf, type KubeObject } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";

/** How long a load balancer that checks pods itself needs until it sends something to a new one; undefined where none is known to. */
export function healthyAfter(workload: Workload, objects: readonly KubeObject[]): Amount | undefined {
  if (workload.pod.at("readinessGates").exists) return undefined;
  const labels = namespaceOf(workload.object, objects)?.at("metadata").at("labels");
  for (const { podChecks } of kinds) {
    if (podChecks === undefined) continue;
    const [label, value] = podChecks.gateLabel;
    if (labels?.at(label).text() === value) continue;
    for (const { name, on, when, interval, successes } of podChecks.checks)
      for (const { field } of workload[on]) {
        if (annotationOf(field, when[0]).text() !== when[1]) continue;
        const read = ([key, otherwise]: readonly [string, number]): number => {
          const value = Number(annotationOf(field, key).text());
          return Number.isFinite(value) && value > 0 ? value : otherwise;
        };
        const [seconds, count] = [read(interval), read(successes)];
        const because = `${seconds} interval x ${count} successes, by annotation or the controller's default`;
        return assumed(name, seconds * count, because);
      }
  }
  return undefined;
}
