import { objectOf, sendersOf } from "@lameduck/audit";
import { ManifestError, readDocuments } from "@lameduck/manifests";
import type { ServiceObject } from "./services.ts";

/** How long a sender goes on choosing a pod that is deleted, and where the number comes from. */
export interface Convergence {
  /** Seconds. */
  readonly value: number;
  readonly origin: string;
}

type Annotations = Readonly<Record<string, string>>;

const aws = "service.beta.kubernetes.io/aws-load-balancer-";
/** Those whose values the audit reads. Of others of AWS it only sees that there are some. */
const annotationsRead: readonly string[] = [
  `${aws}nlb-target-type`,
  `${aws}type`,
  `${aws}healthcheck-interval`,
  `${aws}healthcheck-unhealthy-threshold`,
  `${aws}healthcheck-timeout`,
  "service.beta.kubernetes.io/azure-load-balancer-health-probe-interval",
  "service.beta.kubernetes.io/azure-load-balancer-health-probe-num-of-probe",
  "cloud.google.com/neg",
  "alb.ingress.kubernetes.io/target-type",
  "kubernetes.io/ingress.class",
];
const longestValue = 1_024;
const longestClass = 253;
const mostKnown = 1_000;

/** By the same rules as the audit's. Most objects of a cluster say the same, and are looked at once. */
export class ConvergenceCache {
  readonly #known = new Map<string, Convergence | undefined>();

  ofService({ metadata, spec = {} }: ServiceObject): Convergence | undefined {
    const { type, clusterIP, externalTrafficPolicy } = spec;
    // The address itself tells nothing.
    const relevant = { type, externalTrafficPolicy, ...(clusterIP === "None" ? { clusterIP } : {}) };
    return this.#of("v1", "Service", metadata.annotations, relevant);
  }

  ofRoute(
    kind: string,
    ingressClassName: string | undefined,
    annotations: Annotations | undefined,
  ): Convergence | undefined {
    const group = kind === "Ingress" ? "networking.k8s.io" : "gateway.networking.k8s.io";
    const isName = (ingressClassName?.length ?? 0) <= longestClass;
    return this.#of(`${group}/v1`, kind, annotations, isName ? { ingressClassName } : {});
  }

  #of(
    apiVersion: string,
    kind: string,
    annotations: Annotations | undefined,
    spec: object,
  ): Convergence | undefined {
    const metadata = { name: "one", annotations: relevantOf(annotations) };
    const manifest = JSON.stringify({ apiVersion, kind, metadata, spec });
    if (this.#known.has(manifest)) return this.#known.get(manifest);
    if (this.#known.size >= mostKnown) this.#known.clear();
    const convergence = slowestIn(manifest, kind !== "Service");
    this.#known.set(manifest, convergence);
    return convergence;
  }
}

function relevantOf(annotations: Annotations = {}): Annotations {
  const telling: Record<string, string> = {};
  for (const key of annotationsRead) {
    const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
    if (value !== undefined && value.length <= longestValue) telling[key] = value;
  }
  if (Object.keys(annotations).some((key) => key.startsWith(aws))) telling[`${aws}other`] = "";
  return telling;
}

/** None where an object says nothing that could be read. */
function slowestIn(manifest: string, isRoute: boolean): Convergence | undefined {
  try {
    const [field] = readDocuments(manifest, "one").objects;
    if (!field) return undefined;
    const one = objectOf(field);
    const senders = sendersOf(isRoute ? { services: [], routes: [one] } : { services: [one], routes: [] });
    return senders
      .map(({ name, convergence }) => ({ value: convergence.value, origin: name }))
      .reduce<Convergence | undefined>((a, b) => (a && a.value >= b.value ? a : b), undefined);
  } catch (error) {
    if (error instanceof ManifestError) return undefined;
    throw error;
  }
}
