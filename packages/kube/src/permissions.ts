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
