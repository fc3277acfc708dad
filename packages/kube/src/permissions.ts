import { stringify } from "yaml";
import type { KubernetesClient } from "./client.ts";

/** A right that is needed: all of these verbs on one resource. */
export interface Rule {
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** The only object that the right is for. */
  readonly name?: string;
  /** Nodes belong to no namespace. */
  readonly clusterWide?: boolean;
  /** What the results lack without the right; undefined where nothing works without it. */
  readonly without?: string;
}

/** One verb that is not allowed. */
interface Missing {
  readonly rule: Rule;
  readonly verb: string;
}

/** Asks the API server about every verb of every rule. @returns what is not allowed. */
export async function missingRights(
  client: KubernetesClient,
  namespace: string,
  rules: readonly Rule[],
): Promise<Missing[]> {
  const questions = rules.flatMap((rule) => rule.verbs.map((verb) => ({ rule, verb })));
  const allowed = await Promise.all(questions.map((question) => isAllowed(client, namespace, question)));
  return questions.filter((_, index) => !allowed[index]);
}

async function isAllowed(
  client: KubernetesClient,
  namespace: string,
  { rule, verb }: Missing,
): Promise<boolean> {
  const [resource, subresource] = rule.resource.split("/");
  const { status } = await client.post<{ status?: { allowed?: boolean } }>(
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: {
        resourceAttributes: {
          ...(rule.clusterWide ? {} : { namespace }),
          verb,
          group: rule.group,
          resource,
          ...(subresource === undefined ? {} : { subresource }),
          ...(rule.name === undefined ? {} : { name: rule.name }),
        },
      },
    },
  );
  return status?.allowed === true;
}

/** "patch deployments.apps/web in namespace shop" */
export function spellRight({ rule, verb }: Missing, namespace: string): string {
  const { group, resource, name, clusterWide } = rule;
  const what = `${resource}${group === "" ? "" : `.${group}`}${name === undefined ? "" : ` "${name}"`}`;
  return `${verb} ${what}${clusterWide ? " (cluster-wide)" : ` in namespace ${namespace}`}`;
}

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
