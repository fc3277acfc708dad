import type { Rule } from "@lameduck/kube";
import type { Route } from "../routes/route.ts";
import { isSecret } from "./plan.ts";

/**
 * What the load in the cluster needs, in its namespace; for the preflight and the Role it prints. Objects are read where the answer to their
 * creation was lost.
 */
export const inClusterRules = (routes: readonly Route[]): readonly Rule[] => [
  { group: "batch", resource: "jobs", verbs: ["create", "get", "delete"] },
  { group: "", resource: isSecret(routes) ? "secrets" : "configmaps", verbs: ["create", "get", "delete"] },
  { group: "", resource: "pods", verbs: ["list", "patch", "delete"] },
  { group: "", resource: "pods/log", verbs: ["get"] },
  {
    group: "",
    resource: "events",
    verbs: ["list"],
    without: "why the load's pods do not start, where a quota or an admission policy forbids them",
  },
];
