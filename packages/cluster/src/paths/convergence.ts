import {
  annotationsOf,
  type Assumed,
  convergenceOf,
  routeAnnotations,
  type SeenClass,
  type SeenPod,
  type SeenRoute,
  type Sender,
  senderOfRoute,
  sendersOfPod,
  sendersOfService,
  whoIs,
  withClass,
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

/** The longest name that a class can have. Longer texts are dropped, because each object would keep a copy. */
const longestClass = 253;

/** The convergence of the slowest sender that a Service shows. */
export function convergenceOfService({ metadata, spec = {} }: ServiceObject): Convergence | undefined {
  const { type, clusterIP, externalTrafficPolicy } = spec;
  const annotations = annotationsOf(metadata.annotations);
  return slowestOf(sendersOfService({ annotations, type, clusterIP, externalTrafficPolicy }));
}

/** What of a route tells its sender. */
export interface ToldByRoute {
  readonly kind: string;
  readonly className?: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Route {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: { readonly ingressClassName?: string };
}

export function toldByRoute(kind: string, { metadata, spec }: Route): ToldByRoute {
  const isKept = (text: string | undefined): text is string =>
    text !== undefined && text.length <= longestClass;
  const className = spec?.ingressClassName;
  const annotations = routeAnnotations.flatMap((name) => {
    const text = metadata.annotations?.[name];
    return isKept(text) ? [[name, text] as const] : [];
  });
  return {
    kind,
    ...(isKept(className) ? { className } : {}),
    annotations: Object.fromEntries(annotations),
  };
}

/** The route as its IngressClass, which may change, says it now. */
export function seenRoute(
  { kind, className, annotations }: ToldByRoute,
  classes: Iterable<SeenClass>,
): SeenRoute {
  const route = { kind, ingressClassName: className, annotations: annotationsOf(annotations) };
  return withClass(route, classes);
}

export function convergenceOfRoute(told: ToldByRoute, classes: Iterable<SeenClass>): Convergence | undefined {
  const sender = senderOfRoute(seenRoute(told, classes), []);
  return sender && convergenceOfSender(sender.name, sender);
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
