import { architectures, type Architecture } from "../policy/settings.ts";

/**
 * Processors of the nodes, as injection has to know them.
 * @param labels kubernetes.io/arch of each node.
 * @returns two where a pod may land on a node that there is no binary for; none where nothing is known.
 */
export function architecturesOf(labels: Iterable<string>): readonly Architecture[] | undefined {
  const found = new Set(labels);
  if (found.size === 0) return undefined;
  const known = architectures.filter((one) => found.has(one));
  return known.length < found.size && known.length > 0 ? architectures : known;
}
