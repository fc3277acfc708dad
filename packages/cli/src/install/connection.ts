import type { Command } from "commander";
import { operatorNames } from "@lameduck/protocol";
import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import { contextOption, kubeconfigOption, mustBeNamespace } from "../options.ts";

export interface ConnectionFlags {
  readonly namespace: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

export function addConnectionOptions(command: Command): Command {
  return command
    .option("-n, --namespace <name>", "namespace of Lameduck itself", operatorNames.namespace)
    .option(...contextOption)
    .option(...kubeconfigOption);
}

export function connect({ context, kubeconfig, namespace }: ConnectionFlags): KubernetesClient {
  mustBeNamespace("--namespace", namespace);
  return new KubernetesClient(clusterConnection({ context, kubeconfig }));
}
