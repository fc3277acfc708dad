import { annotationsOf, type Sender, senderOfRoute, sendersOfService } from "@lameduck/senders";
import type { ServiceObject } from "./services.ts";

/** How long a sender goes on choosing a pod that is deleted, and where the number comes from. */
export interface Convergence {
  /** Seconds. */
  readonly value: number;
  readonly origin: string;
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

function slowestOf(senders: readonly Sender[]): Convergence | undefined {
  return senders
    .map(({ name, seconds }) => ({ value: seconds, origin: name }))
    .reduce<Convergence | undefined>((a, b) => (a && a.value >= b.value ? a : b), undefined);
}
