import type { Rule } from "../permissions.ts";

/** What the load in the cluster needs, in its namespace; for the preflight and the Role it prints. */
export const inClusterRules: readonly Rule[] = [
  { group: "batch", resource: "jobs", verbs: ["create", "delete"] },
  { group: "", resource: "configmaps", verbs: ["create", "delete"] },
  { group: "", resource: "pods", verbs: ["list", "patch", "delete"] },
  { group: "", resource: "pods/log", verbs: ["get"] },
  {
    group: "",
    resource: "events",
    verbs: ["list"],
    without: "why the load's pods do not start, where a quota or an admission policy forbids them",
  },
];
