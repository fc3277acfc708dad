import { admissionPolicy, policyName, settingsFor, type PolicyOptions } from "@lameduck/inject";
import { apiPath, operatorNames } from "@lameduck/protocol";
import type { KubernetesClient, KubernetesObject } from "@lameduck/kube";
import { say } from "../output.ts";
import { factsOf, ifReadable } from "../cluster/facts.ts";
import type { Manifest } from "./manifest.ts";

const labels = { "app.kubernetes.io/name": "lameduck" };

/**
 * A MutatingAdmissionPolicy for the DrainPolicies as they stand now, and for the processors of the nodes. There is one for the
 * cluster, and one for each namespace that has a DrainPolicy of its own.
 */
export async function admissionPolicies(
  client: KubernetesClient,
  ofLameduck: string,
  signal: AbortSignal,
): Promise<Manifest[]> {
  const facts = await factsOf(client, signal);
  const all = (await ifReadable(client.list(`${apiPath}/drainpolicies`, signal))) ?? [];
  const own = new Map(
    all
      .filter(({ metadata }) => metadata.name === policyName)
      .map((policy) => [policy.metadata.namespace ?? "", policy] as const),
  );
  const clusterPolicy = own.get(ofLameduck);
  own.delete(ofLameduck);
  const made = (namespacePolicy: KubernetesObject | undefined, options: PolicyOptions): Manifest[] => {
    const { settings } = settingsFor({ namespacePolicy, clusterPolicy });
    if (settings.existingSleep === "replace")
      say(
        `note: a policy replaces no sleep, whatever existingSleep of a DrainPolicy says${namespacePolicy ? ` (namespace ${namespacePolicy.metadata.namespace})` : ""}: the webhook and lameduck inject do`,
      );
    return admissionPolicy(settings, facts, {
      ...options,
      ofLameduck,
    }).map((object) => {
      const { metadata, ...rest } = object as unknown as Manifest;
      return { ...rest, metadata: { ...metadata, labels } };
    });
  };
  return [
    ...made(undefined, { exceptNamespaces: [...own.keys()] }),
    ...[...own].flatMap(([namespace, policy]) =>
      made(policy, { name: `${operatorNames.webhooks.inject}.${namespace}`, namespaces: [namespace] }),
    ),
  ];
}

/** Every one of ours that is there, for whichever namespace. */
export async function policiesThere(client: KubernetesClient, signal: AbortSignal): Promise<Manifest[]> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const lists = [
    ["MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"],
    ["MutatingAdmissionPolicy", "mutatingadmissionpolicies"],
  ] as const;
  const selector = encodeURIComponent(`app.kubernetes.io/name=lameduck`);
  const found = await Promise.all(
    lists.map(async ([kind, plural]) => {
      const path = `/apis/${apiVersion}/${plural}?labelSelector=${selector}`;
      const objects = (await ifReadable(client.list(path, signal))) ?? [];
      return objects.map(({ metadata: { name } }) => ({ apiVersion, kind, metadata: { name } }));
    }),
  );
  return found.flat();
}

export const isAdmissionPolicy = ({ kind }: Manifest): boolean => kind.startsWith("MutatingAdmissionPolicy");
