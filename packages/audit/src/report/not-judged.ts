import type { Inventory } from "../model/inventory.ts";

/** Resources that become others, and how to see those. */
const rendered: readonly { readonly kind: RegExp; readonly what: string; readonly how: string }[] = [
  {
    kind: /^(?:Kustomization|Component)$|^kustomize\S+ |without containers$/,
    what: "What a kustomization changes or generates is not in its files",
    how: "kubectl kustomize FOLDER | lameduck COMMAND -",
  },
  {
    kind: /^(?:HelmRelease|HelmChart|HelmChartConfig)$/,
    what: "What a chart renders is not in its release",
    how: "helm template CHART | lameduck COMMAND -",
  },
  {
    kind: /^(?:Application|ApplicationSet)$/,
    what: "What Argo CD renders is not in its Application",
    how: "argocd app manifests NAME | lameduck COMMAND -",
  },
  {
    kind: /^Template$/,
    what: "What a Template makes is not in it",
    how: "oc process --local -f FILE -o yaml | lameduck COMMAND -",
  },
];

/** In sentences: what runs pods and was not judged, and what has to be rendered before anybody can look at it. */
export function notJudged(
  { unread, skipped }: Pick<Inventory, "unread" | "skipped">,
  command: string,
): string[] {
  const kinds = [...unread.keys(), ...skipped.keys()];
  return [
    ...(unread.size > 0 ? [`Not judged, although they run pods: ${counted(unread)}.`] : []),
    ...rendered
      .filter(({ kind }) => kinds.some((one) => kind.test(one)))
      .map(({ what, how }) => `${what}; render it: ${how.replace("COMMAND", command)}`),
  ];
}

/** "1 ConfigMap, 2 Secret" */
export function counted(kinds: ReadonlyMap<string, number>): string {
  return [...kinds]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
}
