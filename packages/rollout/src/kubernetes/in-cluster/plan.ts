import type { LoadOptions } from "../../load/plan.ts";
import type { LoadProtocol } from "../../load/protocols.ts";

/** What a pod of the load is told, as plan.json beside its program. */
export interface PodPlan {
  readonly routes: readonly {
    readonly name: string;
    readonly url: string;
    readonly protocol: LoadProtocol;
  }[];
  /** This pod's share; the paths and the host are each route's own. */
  readonly load: LoadOptions;
  readonly seed: number;
  /** How long it stays when all has been written, milliseconds: the log of a pod that is deleted goes with it. */
  readonly linger: number;
}

/** Where the ConfigMap is mounted. */
export const programFolder = "/lameduck";
export const programFile = "load.mjs";
export const planFile = "plan.json";
