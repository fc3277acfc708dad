import { operatorNames } from "@lameduck/protocol";
import type { KubernetesClient, KubernetesObject } from "@lameduck/kube";
import { badOption, CliError } from "../errors.ts";
import { ifReadable } from "../cluster/facts.ts";

interface Configuration {
  readonly webhooks?: readonly {
    readonly clientConfig: { readonly service?: { readonly namespace?: string } };
  }[];
}

/**
 * Half of an installation has no namespace: another name would leave the operator where it is, without its rights.
 * @throws {CliError} LAMEDUCK_BAD_OPTION
 */
export async function mustBeIn(client: KubernetesClient, namespace: string): Promise<void> {
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${operatorNames.configuration}`;
  const configuration = await ifReadable(client.get<Configuration>(path));
  const place = configuration?.webhooks?.[0]?.clientConfig.service?.namespace;
  if (place === undefined || place === namespace) return;
  throw badOption("--lameduck-namespace", `Lameduck is installed in namespace ${place}`);
}

/** Both would undo what the other does. @throws {CliError} LAMEDUCK_OF_HELM */
export async function mustNotBeHelms(client: KubernetesClient): Promise<void> {
  const release = await helmRelease(client);
  if (release === undefined) return;
  throw new CliError("LAMEDUCK_OF_HELM", `release ${release}`, "Lameduck was installed here by Helm");
}

/** "NAMESPACE/NAME" of the release that has installed Lameduck. Its CRDs say nothing: they stay when a release is removed. */
export async function helmRelease(client: KubernetesClient): Promise<string | undefined> {
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const paths = [
    `${admission}/mutatingwebhookconfigurations/${operatorNames.configuration}`,
    `${admission}/mutatingadmissionpolicies/${operatorNames.webhooks.inject}`,
  ];
  const found = await Promise.all(paths.map((path) => ifReadable(client.get<KubernetesObject>(path))));
  for (const one of found) {
    const { annotations = {} } = one?.metadata ?? {};
    const name = annotations["meta.helm.sh/release-name"];
    if (name !== undefined) return `${annotations["meta.helm.sh/release-namespace"]}/${name}`;
  }
  return undefined;
}
