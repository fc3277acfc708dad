import { auditErrors } from "@lameduck/audit";
import { operatorErrors } from "@lameduck/protocol";
import { drainErrors } from "@lameduck/drain";
import { imageErrors } from "@lameduck/images";
import { initErrors } from "@lameduck/init";
import { kubernetesErrors } from "@lameduck/kube";
import { inClusterErrors, loadErrors, requestsErrors } from "@lameduck/load";
import { manifestErrors } from "@lameduck/manifests";
import { nodeErrors } from "@lameduck/node";
import { simulatorErrors } from "@lameduck/simulator";
import { stageErrors } from "@lameduck/stage";
import { cliErrors } from "../errors.ts";

/** Where the same code is in two of them, its remedy depends on who says it. */
const catalogues = [
  { of: "lameduck", remedies: cliErrors },
  { of: "@lameduck/node", remedies: nodeErrors },
  { of: "lameduck-init", remedies: initErrors },
  { of: "every policy", remedies: drainErrors },
  { of: "manifests", remedies: manifestErrors },
  { of: "audit", remedies: auditErrors },
  { of: "inject and the operator", remedies: operatorErrors },
  { of: "lab", remedies: stageErrors },
  { of: "images", remedies: imageErrors },
  { of: "the load", remedies: loadErrors },
  { of: "rollout", remedies: kubernetesErrors },
  { of: "rollout --in-cluster", remedies: inClusterErrors },
  { of: "rollout --requests", remedies: requestsErrors },
  { of: "simulate", remedies: simulatorErrors },
] as const;

type KeysOfEach<T> = T extends unknown ? keyof T : never;

export type ErrorCode = KeysOfEach<(typeof catalogues)[number]["remedies"]>;

export interface Remedy {
  readonly of: string;
  readonly remedy: string;
}

/** @returns none where the code is unknown. */
export function remediesOf(code: string): Remedy[] {
  return catalogues.flatMap(({ of, remedies }) => {
    const remedy = (remedies as Readonly<Record<string, string>>)[code];
    return remedy === undefined ? [] : [{ of, remedy }];
  });
}

export function errorCodes(): ErrorCode[] {
  return [...new Set(catalogues.flatMap(({ remedies }) => Object.keys(remedies) as ErrorCode[]))];
}
