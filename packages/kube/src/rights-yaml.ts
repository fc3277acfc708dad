import { stringify } from "yaml";
import type { Rule } from "./permissions.ts";

/** The least rights as manifests, ready for `kubectl apply -f -`. */
export function rightsYaml(namespace: string, rules: readonly Rule[], roleName = "lameduck-rollout"): string {
  const merged = mergedRules(rules);
  const own = merged.filter(({ clusterWide }) => !clusterWide);
  const wide = merged.filter(({ clusterWide }) => clusterWide);
  const role = (kind: "Role" | "ClusterRole", of: readonly Rule[]): string =>
    stringify(
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind,
        metadata: { name: roleName, ...(kind === "Role" ? { namespace } : {}) },
        rules: [
          ...Map.groupBy(of, ({ group, verbs, name }) => `${group} ${verbs.join()} ${name}`).values(),
        ].flatMap((alike) =>
          alike.slice(0, 1).map(({ group, verbs, name }) => ({
            apiGroups: [group],
            resources: alike.map(({ resource }) => resource),
            ...(name === undefined ? {} : { resourceNames: [name] }),
            verbs,
          })),
        ),
      },
      // kubectl takes a bare yes or no for a boolean.
      { version: "1.1" },
    );
  return [
    ...(own.length > 0 ? [role("Role", own)] : []),
    ...(wide.length > 0 ? [role("ClusterRole", wide)] : []),
  ].join("---\n");
}

/** One rule for each resource and name. */
function mergedRules(rules: readonly Rule[]): Rule[] {
  const same = Map.groupBy(
    rules,
    ({ group, resource, name, clusterWide }) => `${group} ${resource} ${name ?? ""} ${clusterWide ?? false}`,
  );
  return [...same.values()].flatMap(([first, ...others]) =>
    first ? [{ ...first, verbs: [...new Set([first, ...others].flatMap(({ verbs }) => verbs))] }] : [],
  );
}
