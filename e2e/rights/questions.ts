import { withoutUndefined } from "@lameduck/drain/common";
import type { KubernetesClient } from "@lameduck/kube";
import type { RoleRule } from "@lameduck/operator";

/** A resource, or a subresource, that the API server serves. */
export interface Served {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly isNamespaced: boolean;
}

/** The attributes of a SelfSubjectAccessReview. */
export interface Question {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** None: in all namespaces, or of no namespace. */
  readonly namespace?: string;
  readonly name?: string;
}

/** Those of requests, those that guard rights themselves, and all. */
const verbs = `get list watch create update patch delete deletecollection
  impersonate bind escalate approve sign attest use *`.split(/\s+/);

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly namespaced: boolean }[];
}
interface GroupList {
  readonly groups: readonly {
    readonly name: string;
    readonly versions: readonly { readonly groupVersion: string }[];
  }[];
}

/** Whatever version serves it: rights know groups only. */
export async function discovered(api: KubernetesClient): Promise<readonly Served[]> {
  const { groups } = await api.get<GroupList>("/apis");
  const paths = groups.flatMap(({ name, versions }) =>
    versions.map(({ groupVersion }) => [name, `/apis/${groupVersion}`] as const),
  );
  const lists = await Promise.all(
    ([["", "/api/v1"], ...paths] as const).map(async ([group, path]) => {
      const { resources } = await api.get<ResourceList>(path);
      return resources.map(({ name, namespaced }) => servedAs(group, name, namespaced));
    }),
  );
  return [...new Map(lists.flat().map((one) => [nameOf(one), one])).values()];
}

/** Of every resource, those of the rules and "*" among them: each verb, in each of these namespaces and in all, with and without a name. */
export function allQuestions(
  served: readonly Served[],
  rules: readonly RoleRule[],
  namespaces: readonly string[],
): readonly Question[] {
  const ruled = rules.flatMap(({ apiGroups, resources }) =>
    apiGroups.flatMap((group) => resources.map((resource) => servedAs(group, resource, true))),
  );
  const everything: Served = { group: "*", resource: "*", isNamespaced: true };
  const all = new Map([...ruled, everything, ...served].map((one) => [nameOf(one), one]));
  return [...all.values()].flatMap(({ isNamespaced, ...one }) => {
    const names = [undefined, "another", ...namesIn(rules, one)];
    const places = isNamespaced ? [undefined, ...namespaces] : [undefined];
    return verbs.flatMap((verb) =>
      places.flatMap((namespace) => names.map((name) => withoutUndefined({ verb, ...one, namespace, name }))),
    );
  });
}

/** By the rules: those of its ClusterRole hold in every namespace, those of its Role in its own. */
export function isGranted(
  question: Question,
  rights: {
    readonly everywhere: readonly RoleRule[];
    readonly own: readonly RoleRule[];
    readonly namespace: string;
  },
): boolean {
  const rules =
    question.namespace === rights.namespace ? [...rights.everywhere, ...rights.own] : rights.everywhere;
  return rules.some(
    ({ apiGroups, resources, verbs: granted, resourceNames }) =>
      apiGroups.includes(question.group) &&
      resources.includes(resourceOf(question)) &&
      granted.includes(question.verb) &&
      (resourceNames === undefined || (question.name !== undefined && resourceNames.includes(question.name))),
  );
}

/** "patch pods/status in shop" */
export function spelt(question: Question): string {
  const { verb, group, namespace, name } = question;
  const what = `${resourceOf(question)}${group === "" ? "" : `.${group}`}`;
  return `${verb} ${what}${name === undefined ? "" : ` "${name}"`}${namespace === undefined ? "" : ` in ${namespace}`}`;
}

function servedAs(group: string, name: string, isNamespaced: boolean): Served {
  const [resource = "", subresource] = name.split("/");
  return withoutUndefined({ group, resource, subresource, isNamespaced });
}

function resourceOf({ resource, subresource }: Pick<Served, "resource" | "subresource">): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function nameOf(one: Pick<Served, "group" | "resource" | "subresource">): string {
  return `${one.group} ${resourceOf(one)}`;
}

function namesIn(
  rules: readonly RoleRule[],
  one: Pick<Served, "group" | "resource" | "subresource">,
): readonly string[] {
  const found = rules.flatMap(({ apiGroups, resources, resourceNames = [] }) =>
    apiGroups.includes(one.group) && resources.includes(resourceOf(one)) ? resourceNames : [],
  );
  return [...new Set(found)];
}
