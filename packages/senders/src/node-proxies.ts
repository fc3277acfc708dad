/** Kinds that carry a node's traffic to pods: every node has one of them. */
const nodeKinds: ReadonlySet<string> = new Set(["kube-proxy", "cilium"]);

/** What a consumer reports to serve if it carries its node's traffic, whatever its kind. */
export const servesNode = "node";

export const isNodeKind = (kind: string): boolean => nodeKinds.has(kind);

export function isNodeProxy({
  kind,
  serves,
}: {
  readonly kind: string;
  readonly serves: readonly string[];
}): boolean {
  return isNodeKind(kind) || serves.includes(servesNode);
}
