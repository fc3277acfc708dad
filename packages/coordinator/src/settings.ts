import { acknowledgementsFor, type AcknowledgementSettings, policyName } from "@lameduck/inject";
import type { Change } from "@lameduck/kube";
import type { PolicyObject } from "@lameduck/cluster";

/** What DrainPolicies say of acknowledgements, merged once for each namespace. */
export class PolicySettings {
  readonly #policies = new Map<string, PolicyObject>();
  readonly #merged = new Map<string, AcknowledgementSettings>();
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

  of(namespace: string): AcknowledgementSettings {
    let merged = this.#merged.get(namespace);
    if (!merged) {
      merged = acknowledgementsFor({
        namespacePolicy: this.#policies.get(namespace),
        clusterPolicy: this.#policies.get(this.#ownNamespace),
      });
      this.#merged.set(namespace, merged);
    }
    return merged;
  }
}
