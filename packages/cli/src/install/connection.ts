import type { Command } from "commander";
import { operatorNames } from "@lameduck/operator";
import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import { CliError } from "../errors.ts";

export interface ConnectionFlags {
  readonly namespace: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

export function addConnectionOptions(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace of Lameduck itself", operatorNames.namespace)
    .option("--context <name>", "context of the kubeconfig (default: its current one)")
    .option(
      "--kubeconfig <file>",
      "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's service account)",
    );
}

/** What a name of a namespace may be (RFC 1123). @throws {CliError} */
export function mustBeNamespace(option: string, name: string): string {
  if (/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new CliError("LAMEDUCK_BAD_OPTION", option, `"${name}" is no name of a namespace`);
}

export function connect({ context, kubeconfig, namespace }: ConnectionFlags): KubernetesClient {
  mustBeNamespace("--namespace", namespace);
  return new KubernetesClient(clusterConnection({ context, kubeconfig }));
}
