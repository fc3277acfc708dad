import {
  type Change,
  type KubernetesClient,
  type KubernetesObject,
  type QuotaOptions,
  Source,
} from "@lameduck/kube";

export interface SourcesOptions {
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds until what failed is asked for again. */
  readonly again?: number;
}

/** Makes the lists and watches of one reader. Each keeps of an object what `keep` returns. */
export function sourcesOf(
  client: KubernetesClient,
  { onProblem, again }: SourcesOptions,
): <Kept extends KubernetesObject>(
  name: string,
  path: string,
  keep: (object: never) => Kept | undefined,
  take: (change: Change<Kept>) => void,
  quota?: QuotaOptions<Kept>,
) => Source<Kept> {
  return (name, path, keep, take, quota) =>
    new Source(client, {
      name,
      path,
      keep: (object) => keep(object as never),
      onChange: take,
      onProblem,
      ...(quota === undefined ? {} : { quota }),
      ...(again === undefined ? {} : { again }),
    });
}
