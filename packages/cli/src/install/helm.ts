import { orUndefined, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";
import { CliError } from "../errors.ts";

/** Both would undo what the other does. @throws {CliError} LAMEDUCK_OF_HELM */
export async function mustNotBeHelms(client: KubernetesClient): Promise<void> {
  const release = await helmRelease(client);
  if (release === undefined) return;
  throw new CliError("LAMEDUCK_OF_HELM", `release ${release}`, "Lameduck was installed here by Helm");
}

/** "NAMESPACE/NAME" of the release that has installed Lameduck. Its CRD is there in either mode. */
export async function helmRelease(client: KubernetesClient): Promise<string | undefined> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/drainpolicies.lameduck.dev";
  const definition = await orUndefined(client.get<KubernetesObject>(path), 404);
  const { annotations = {} } = definition?.metadata ?? {};
  const name = annotations["meta.helm.sh/release-name"];
  return name && `${annotations["meta.helm.sh/release-namespace"]}/${name}`;
}
