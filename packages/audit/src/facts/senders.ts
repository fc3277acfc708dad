import type { Field } from "@lameduck/manifests";
import {
  convergenceOf as convergenceOfNeed,
  nodeCheckOf as nodeCheck,
  type Sender as Known,
  senderOfRoute,
  sendersOfPod,
  sendersOfService,
  type SeenService,
  whoIs,
} from "@lameduck/senders";
import { assumed, fromField, type Amount } from "../model/amount.ts";
import { askedOnce } from "../model/asked-once.ts";
import { annotationOf, annotationsIn } from "../model/object.ts";
import type { Workload } from "../model/workload.ts";
import { factOf, type Facts } from "./facts.ts";

/** A sender of requests, and how long it may go on sending to a pod that is deleted. */
export interface Sender {
  readonly name: string;
  readonly convergence: Amount;
  /** How the number comes about, where it is a sum. */
  readonly sum?: string;
}

/** The slowest of them decides how long a deleted pod must go on serving. */
export const sendersOf = askedOnce((workload: Workload): readonly Sender[] => {
  const { services, routes } = workload;
  const ofServices = services.flatMap(({ field }) => ofServiceIn(field));
  const known = [...new Set(ofServices.map((one) => one.known))];
  return [
    ...ofServices.map(({ sender }) => sender),
    ...routes.flatMap((object) => {
      const sender = senderOfRoute(object.seen, known);
      return sender ? [senderIn(object.field, sender)] : [];
    }),
    ...(services.length > 0 ? meshesOf(workload) : []),
  ];
});

/** One Service may lead to many workloads. */
const ofServiceIn = askedOnce((service: Field) =>
  sendersOfService(serviceIn(service)).map((known) => ({ known, sender: senderIn(service, known) })),
);

/** The mesh of which its pods are a part: the others of the mesh call them. */
function meshesOf({ template, object, containers, sidecars, labels }: Workload): readonly Sender[] {
  const names = annotationsIn(template).names();
  const annotations = names.map((name) => [name, annotationOf(template, name).text() ?? ""] as const);
  const pod = {
    namespace: object.namespace ?? "",
    labels,
    annotations: Object.fromEntries(annotations),
    containers: [...containers, ...sidecars].map(({ name, image }) => ({
      name,
      ...(image === undefined ? {} : { image }),
    })),
  };
  return sendersOfPod(pod).flatMap(({ need, services }) => {
    const known = services && convergenceOfNeed(need);
    const name = whoIs(need) ?? need;
    return known ? [{ name, convergence: assumed(name, known.seconds, known.because) }] : [];
  });
}

/** How long the slowest sender takes: the user's answer, else the slowest preset. */
export function convergenceOf(
  workload: Workload,
  facts: Facts,
): { readonly amount: Amount; readonly sender?: Sender } | undefined {
  const given = factOf(workload, "convergence", facts);
  if (given) return { amount: given };
  const senders = sendersOf(workload);
  if (senders.length === 0) return undefined;
  const sender = senders.reduce((a, b) => (b.convergence.value > a.convergence.value ? b : a));
  return { amount: sender.convergence, sender };
}

/** How long a cloud's load balancer takes to notice that a node of the Service has, or no longer has, a pod. */
export function nodeCheckOf(service: Field): Amount {
  return amountOf(service, nodeCheck(annotationsIn(service)));
}

function senderIn(object: Field, sender: Known): Sender {
  const { name, sum } = sender;
  return { name, convergence: amountOf(object, sender), ...(sum === undefined ? {} : { sum }) };
}

function amountOf(object: Field, { label, seconds, because, annotation }: Known): Amount {
  return annotation === undefined
    ? assumed(label, seconds, because)
    : fromField(label, seconds, annotationOf(object, annotation));
}

function serviceIn(field: Field): SeenService {
  const spec = field.at("spec");
  return {
    annotations: annotationsIn(field),
    type: spec.at("type").text(),
    clusterIP: spec.at("clusterIP").text(),
    externalTrafficPolicy: spec.at("externalTrafficPolicy").text(),
  };
}
