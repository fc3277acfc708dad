import { type Annotations, type Sender, type SenderKind } from "./kind.ts";

/** An annotation of a headless Service: how many seconds its clients keep an address, at most an hour. */
const dnsTtlAnnotation = "lameduck.dev/dns-ttl-seconds";

const headless: Sender = {
  name: "clients that resolve the headless Service",
  label: "DNS",
  seconds: 30,
  because: "the TTL of 30 s that kubeadm's CoreDNS gives; clients may keep addresses for longer",
  knownBy: `a Service with \`clusterIP: None\`; its annotation \`${dnsTtlAnnotation}\` says another time`,
};

/**
 * gRPC clients of Go, Node and C++, and of what is built on these, ask DNS when they lose a connection. They do not ask again within 30 s of the last
 * answer, whatever the record's time to live. Java keeps the answer for as long.
 */
const grpcSeconds = 30;
const longestSeconds = 3_600;

/** How long clients of a headless Service keep an address, as the Service shows. */
export interface KeptAddresses {
  /** The Service says it. */
  readonly stated?: number;
  /** Its clients keep an address for so long at least. */
  readonly least?: number;
}

export interface NamedPort {
  readonly name?: string | null;
  readonly appProtocol?: string | null;
}

export function keptAddressesOf(
  annotations: Annotations,
  ports: readonly NamedPort[] | null = null,
): KeptAddresses {
  const stated = statedIn(annotations);
  if (stated !== undefined) return { stated };
  return ports?.some(isGrpc) === true ? { least: grpcSeconds } : {};
}

/** As Istio and others read it: `appProtocol: grpc`, or a port named "grpc" or "grpc-api". */
function isGrpc({ name, appProtocol }: NamedPort): boolean {
  return [appProtocol, name].some(
    (text) => typeof text === "string" && /^(?:[\w.-]+\/)?grpc(?:-|$)/i.test(text),
  );
}

function statedIn(annotations: Annotations): number | undefined {
  const text = annotations.get(dnsTtlAnnotation);
  if (text === undefined || !/^\d{1,4}$/.test(text)) return undefined;
  return Number(text) <= longestSeconds ? Number(text) : undefined;
}

export const dns = {
  name: "dns",
  seen: [headless],
  ofService: ({ clusterIP, annotations }) => {
    if (clusterIP !== "None") return undefined;
    const stated = statedIn(annotations);
    if (stated === undefined) return headless;
    return { ...headless, seconds: stated, because: "stated by the Service", annotation: dnsTtlAnnotation };
  },
  presets: {
    dns: {
      summary: "clients of a headless service: CoreDNS cache 30 s, then the client's own 30 s",
      source: "https://coredns.io/plugins/kubernetes; kubeadm Corefile: ttl 30, cache 30",
      forwarder: { kind: "delay", delay: { sum: [{ uniform: [0, 30_000] }, { uniform: [0, 30_000] }] } },
    },
  },
} as const satisfies SenderKind;
