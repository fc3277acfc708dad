import {
  acknowledgementsFor,
  type AcknowledgementSettings,
  policyName,
  settingsFor,
} from "@lameduck/inject/policies";
import type { Change } from "@lameduck/kube";
import type { PolicyObject } from "@lameduck/cluster";

interface NamespaceSettings extends AcknowledgementSettings {
  /** How long the slowest sender takes, where a policy states it. */
  readonly convergenceSeconds?: number | undefined;
}

/** What DrainPolicies say of acknowledgements, merged once for each namespace. */
export class PolicySettings {
  readonly #policies = new Map<string, PolicyObject>();
  readonly #merged = new Map<string, NamespaceSettings>();
  readonly #ownNamespace: string;

  /** @param ownNamespace whose policy holds for the cluster. */
  constructor(ownNamespace: string) {
    this.#ownNamespace = ownNamespace;
  }

  take({ type, object }: Change<PolicyObject>): void {
    const { uid, name, namespace = "" } = object.metadata;
    if (name !== policyName) return;
    if (type === "there") this.#policies.set(namespace, object);
    else if (this.#policies.get(namespace)?.metadata.uid === uid) this.#policies.delete(namespace);
    this.#merged.clear();
  }

  of(namespace: string): NamespaceSettings {
    let merged = this.#merged.get(namespace);
    if (!merged) {
      const sources = {
        namespacePolicy: this.#policies.get(namespace),
        clusterPolicy: this.#policies.get(this.#ownNamespace),
      };
      const { convergenceSeconds } = settingsFor(sources).settings;
      merged = { ...acknowledgementsFor(sources), convergenceSeconds };
      this.#merged.set(namespace, merged);
    }
    return merged;
  }
}
