import {
  annotationsOf,
  type Assumed,
  convergenceOf,
  type SeenPod,
  type Sender,
  senderOfRoute,
  sendersOfPod,
  sendersOfService,
  whoIs,
} from "@lameduck/senders";
import type { ServiceObject } from "./services.ts";

/** How long a sender goes on choosing a pod that is deleted, and where the number comes from. */
export interface Convergence {
  /** Seconds. */
  readonly value: number;
  /** Whose it is. */
  readonly origin: string;
}

export function convergenceOfSender(origin: string, { seconds: value }: Assumed): Convergence {
  return { value, origin };
}

/** The longest name that a class can have. Longer names are dropped, because each object would keep a copy. */
const longestClass = 253;

/** The convergence of the slowest sender that a Service shows. */
export function convergenceOfService({ metadata, spec = {} }: ServiceObject): Convergence | undefined {
  const { type, clusterIP, externalTrafficPolicy } = spec;
  const annotations = annotationsOf(metadata.annotations);
  return slowestOf(sendersOfService({ annotations, type, clusterIP, externalTrafficPolicy }));
}

export function convergenceOfRoute(
  kind: string,
  className: string | undefined,
  all?: Readonly<Record<string, string>>,
): Convergence | undefined {
  const ingressClassName = (className?.length ?? 0) <= longestClass ? className : undefined;
  const annotations = annotationsOf(all);
  const sender = senderOfRoute({ kind, annotations, ingressClassName }, []);
  return slowestOf(sender ? [sender] : []);
}

/** The convergence of the slowest of senders that are recognised. */
export function convergenceOfNeeds(needs: Iterable<string>): Convergence | undefined {
  return Array.from(needs)
    .map((need) => {
      const known = convergenceOf(need);
      return known && convergenceOfSender(whoIs(need) ?? need, known);
    })
    .reduce<Convergence | undefined>(slowerOf, undefined);
}

/** That of the mesh of which a pod is a part: the others of the mesh call it. */
export function convergenceOfPod(pod: SeenPod): Convergence | undefined {
  return convergenceOfNeeds(sendersOfPod(pod).flatMap(({ need, services }) => (services ? [need] : [])));
}

/** Of two that take as long it is the first by name, so that the answer does not depend on which list was read first. */
export function slowerOf(a: Convergence | undefined, b: Convergence | undefined): Convergence | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.value > a.value || (b.value === a.value && b.origin < a.origin) ? b : a;
}

function slowestOf(senders: readonly Sender[]): Convergence | undefined {
  return senders
    .map((sender) => convergenceOfSender(sender.name, sender))
    .reduce<Convergence | undefined>(slowerOf, undefined);
}
