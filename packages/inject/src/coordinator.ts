import { options } from "@lameduck/options";
import { coordinatorVariable } from "@lameduck/protocol";

/** The coordinator that pods ask whether all senders have let go of them (docs/acknowledgements-protocol.md). */
export interface PodsCoordinator {
  /** "http://HOST:PORT" */
  readonly address: string;
  readonly mode: "availability" | "consistency";
}

export type EnvVariable =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly valueFrom: { readonly fieldRef: { readonly fieldPath: string } } };

/** What a pod needs to ask it; a preStop hook inherits its container's environment. */
export function coordinatorVariables({ address, mode }: PodsCoordinator): EnvVariable[] {
  return [
    { name: coordinatorVariable, value: address },
    ofPod(options.podName.variable, "metadata.name"),
    ofPod(options.podNamespace.variable, "metadata.namespace"),
    ofPod(options.podUid.variable, "metadata.uid"),
    ...(mode === "consistency" ? consistent : []),
  ];
}

/** Stops on the cluster's word alone, however little traffic there was to learn from. */
const consistent: readonly EnvVariable[] = [
  { name: options.mode.variable, value: "consistency" },
  { name: options.policy.variable, value: "acknowledged" },
];

function ofPod(name: string, fieldPath: string): EnvVariable {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
