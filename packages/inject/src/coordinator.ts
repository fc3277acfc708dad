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
    ofPod("LAMEDUCK_POD_NAME", "metadata.name"),
    ofPod("LAMEDUCK_POD_NAMESPACE", "metadata.namespace"),
    ofPod("LAMEDUCK_POD_UID", "metadata.uid"),
    ...(mode === "consistency" ? consistent : []),
  ];
}

/** Stops on the cluster's word alone, however little traffic there was to learn from. */
const consistent: readonly EnvVariable[] = [
  { name: "LAMEDUCK_MODE", value: "consistency" },
  { name: "LAMEDUCK_POLICY", value: "acknowledged" },
];

function ofPod(name: string, fieldPath: string): EnvVariable {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}
