import { whoIs } from "@lameduck/senders";
import type { Routing } from "./routing.ts";

/** A sender that is recognised, and for which nothing reports. */
export interface UnreportedSender {
  /** "mesh/istio": what a watcher would have to serve, or `sendsNothing` of a DrainPolicy to name. */
  readonly need: string;
  /** "Istio's sidecars"; undefined for a class of Ingresses or Gateways. */
  readonly who: string | undefined;
  /** "Pod shop/client": the first object by which it is known. */
  readonly shownBy: string | undefined;
  /** So long no pod stops by its own evidence. A coordinator of the release before does not say it. */
  readonly assumedSeconds?: number | undefined;
  /** To so many Services it may send. */
  readonly services: number;
}

export interface IncompleteServices {
  readonly services: number;
  /** Of them: their pods are not released, because somebody may send to them for whom nothing reports. */
  readonly incomplete: number;
  /** Those who may send to most Services first. */
  readonly senders: readonly UnreportedSender[];
}

/**
 * How many Services have a sender for which nothing reports, and who these senders are.
 * @param isReported whether somebody reports for it, or the DrainPolicy of the Service's namespace says that it sends nothing.
 * @param assumedSeconds how long it may choose a pod of the Service.
 */
export function incompleteServices(
  routing: Routing,
  isReported: (need: string, namespace: string) => boolean,
  assumedSeconds: (need: string, service: string) => number | undefined,
): IncompleteServices {
  const ofNodes = [...new Set(Array.from(routing.nodeProxies(), ([need]) => need))];
  const senders = new Map<
    string,
    Pick<UnreportedSender, "shownBy"> & { services: number; assumedSeconds: number | undefined }
  >();
  let [services, incomplete] = [0, 0];
  for (const service of [...routing.services].sort()) {
    services++;
    const namespace = service.slice(0, service.indexOf("/"));
    const { requiredReporters, throughNodes } = routing.of([service]);
    const needs = [...requiredReporters, ...(throughNodes ? ofNodes : [])];
    const unreported = needs.filter((need) => !isReported(need, namespace));
    if (unreported.length > 0) incomplete++;
    for (const need of unreported) {
      const known = senders.get(need) ?? {
        shownBy: routing.shownBy([service], need),
        assumedSeconds: undefined,
        services: 0,
      };
      senders.set(need, known);
      known.services++;
      const assumed = assumedSeconds(need, service);
      if (assumed !== undefined) known.assumedSeconds = Math.max(known.assumedSeconds ?? 0, assumed);
    }
  }
  const all = Array.from(senders, ([need, rest]) => ({ need, who: whoIs(need), ...rest }));
  return {
    services,
    incomplete,
    senders: all.sort((a, b) => b.services - a.services || (a.need < b.need ? -1 : 1)),
  };
}
