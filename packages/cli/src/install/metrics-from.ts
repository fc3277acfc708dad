import { isIP } from "node:net";
import { badOption } from "../errors.ts";
import { isNamespaceName } from "../options.ts";

/** An entry of a NetworkPolicy's `from`. */
export type Peer = Readonly<Record<string, unknown>>;

/** A range of addresses, or all pods of a namespace. @throws {CliError} */
export function peerOf(value: string): Peer {
  const [address = "", bits = "", ...rest] = value.split("/");
  const family = isIP(address);
  if (
    family !== 0 &&
    rest.length === 0 &&
    /^\d{1,3}$/.test(bits) &&
    Number(bits) <= (family === 4 ? 32 : 128)
  )
    return { ipBlock: { cidr: value } };
  if (isNamespaceName(value))
    return { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": value } } };
  throw badOption("--metrics-from", `"${value}" is neither a CIDR nor a namespace`);
}

interface Rules {
  readonly ingress?: readonly unknown[];
}

/** A NetworkPolicy that lets them read the metrics, where the chart writes `networkPolicy.metricsFrom`. */
export function openedTo<T extends Readonly<Record<string, unknown>>>(policy: T, from: readonly Peer[]): T {
  const spec = policy["spec"] as Rules;
  return {
    ...policy,
    spec: { ...spec, ingress: [...(spec.ingress ?? []), { ports: [{ port: "metrics" }], from }] },
  };
}
