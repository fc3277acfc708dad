import { operatorNames } from "@lameduck/operator";
import type { KubernetesClient } from "@lameduck/kube";
import { badOption } from "../errors.ts";
import { ifReadable } from "./facts.ts";

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
  throw badOption("--namespace", `Lameduck is installed in namespace ${place}`);
}
