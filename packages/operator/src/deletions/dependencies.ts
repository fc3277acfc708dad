import type { KubernetesClient } from "@lameduck/kube";
import type { ReleaseSource } from "./release/consumers.ts";
import type { EndpointView } from "./release/endpoints.ts";
import type { HeldPods } from "./pods.ts";
import type { HoldSettings } from "./settings.ts";

/** What deletions and evictions work with. */
export interface Dependencies {
  readonly client: KubernetesClient;
  readonly pods: HeldPods;
  readonly endpoints: EndpointView;
  /** None: the time that consumers may take is waited for. */
  readonly consumers: ReleaseSource | undefined;
  readonly settings: HoldSettings;
  /** Milliseconds since 1970 by the API server's clock: marks of one replica are read by the others. */
  readonly now: () => number;
  readonly onRestored: () => void;
  readonly onProblem: (part: string, error: unknown) => void;
}
