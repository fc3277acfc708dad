import { revisionOf } from "@lameduck/inject";
import type { Manifest } from "./manifest.ts";

/** What injects new pods: a policy that the API server applies itself, or the webhook that it calls. */
export interface Injector {
  readonly by: "policy" | "webhook";
  readonly name: string;
  /** What it answers a probe with; undefined where that is the operator's to say. */
  readonly revision: string | undefined;
  /** Whether it sees pods of this namespace, once that is labelled. */
  readonly isFor: (namespace: string) => boolean;
}

interface NamespaceSelector {
  readonly matchExpressions?: readonly { readonly operator: string; readonly values?: readonly string[] }[];
}

interface Configuration {
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
  readonly webhooks?: unknown;
}

export function injectorOfPolicy(policy: Configuration): Injector {
  const spec = policy.spec as
    | { readonly matchConstraints?: { readonly namespaceSelector?: NamespaceSelector } }
    | undefined;
  return {
    by: "policy",
    name: policy.metadata.name,
    revision: revisionOf(policy),
    isFor: selects(spec?.matchConstraints?.namespaceSelector),
  };
}

export function injectorOfWebhook(configuration: Configuration): Injector {
  const [webhook] = (configuration.webhooks ?? []) as { readonly namespaceSelector?: NamespaceSelector }[];
  return {
    by: "webhook",
    name: configuration.metadata.name,
    revision: undefined,
    isFor: selects(webhook?.namespaceSelector),
  };
}

/** The injectors among objects that are applied. */
export function injectorsOf(objects: readonly Manifest[]): Injector[] {
  return objects.flatMap((one) => {
    if (one.kind === "MutatingAdmissionPolicy") return injectorOfPolicy(one);
    return one.kind === "MutatingWebhookConfiguration" ? injectorOfWebhook(one) : [];
  });
}

export const nameOfInjector = ({ by, name }: Pick<Injector, "by" | "name">): string =>
  by === "policy" ? `policy ${name}` : "webhook";

/** Ours select by name, apart from the label. */
function selects({ matchExpressions = [] }: NamespaceSelector = {}): (namespace: string) => boolean {
  return (namespace) =>
    matchExpressions.every(({ operator, values = [] }) =>
      operator === "In" ? values.includes(namespace) : !values.includes(namespace),
    );
}
