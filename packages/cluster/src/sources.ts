import {
  type Change,
  type KubernetesClient,
  type KubernetesObject,
  Source,
  type SourceOptions,
} from "@lameduck/kube";

export interface SourcesOptions {
  readonly onProblem: (part: string, error: unknown) => void;
  /** Milliseconds until what failed is asked for again. */
  readonly retryMs?: number;
}

/** How one of them is read. */
export type Reading<T> = Pick<SourceOptions<T>, "quota" | "renewalSeconds" | "onHeard">;

/** Makes the lists and watches of one reader. Each keeps of an object what `keep` returns. */
export function sourcesOf(
  client: KubernetesClient,
  { onProblem, retryMs }: SourcesOptions,
): <Kept extends KubernetesObject>(
  name: string,
  path: string,
  keep: (object: never) => Kept | undefined,
  take: (change: Change<Kept>) => void,
  reading?: Reading<Kept>,
) => Source<Kept> {
  return (name, path, keep, take, reading = {}) =>
    new Source(client, {
      name,
      path,
      keep: (object) => keep(object as never),
      onChange: take,
      onProblem,
      ...reading,
      ...(retryMs === undefined ? {} : { againMs: retryMs }),
    });
}
