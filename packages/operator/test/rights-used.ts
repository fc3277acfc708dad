import { FakeApi, type Asked } from "../../kube/test/fake-api.ts";
import type { RoleRule } from "../src/rights.ts";

/** What an account may do in its own namespace, and everywhere. */
export interface Account {
  readonly namespace: string;
  readonly own: readonly RoleRule[];
  readonly everywhere: readonly RoleRule[];
}

interface Use {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  /** Also of a list or a watch that a field selector limits to one object. */
  readonly name: string | undefined;
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** Collects what is asked of every fake API server of this process. */
export class UsedRights {
  readonly #uses: Use[] = [];

  constructor() {
    FakeApi.onAsked = (asked) => this.#add(asked);
  }

  #add({ method, url, watch }: Asked): void {
    const [, group = "", namespace, resource, name, sub] =
      /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(
        url.pathname,
      ) ?? [];
    // Everybody may ask for the version, and what they may do themselves.
    if (resource === undefined || resource === "selfsubjectaccessreviews") return;
    const [, selected] = /^metadata\.name=([^,]+)$/.exec(url.searchParams.get("fieldSelector") ?? "") ?? [];
    const reading = watch ? "watch" : name === undefined ? "list" : "get";
    this.#uses.push({
      verb: method === "GET" ? reading : (verbs[method] ?? method),
      group,
      resource: sub === undefined ? resource : `${resource}/${sub}`,
      namespace,
      name: name ?? selected,
    });
  }

  /** Rights that nothing has needed. */
  unused({ own, everywhere, namespace }: Account): readonly string[] {
    const idle = (rules: readonly RoleRule[], within: string | undefined): string[] =>
      rules.flatMap((rule) =>
        rule.verbs.flatMap((verb) =>
          rule.resources
            .filter((resource) => {
              const one = { ...rule, verbs: [verb], resources: [resource] };
              return !this.#uses.some((use) => allows(one, use, within));
            })
            .map((resource) => spelt(verb, rule.apiGroups[0] ?? "", resource)),
        ),
      );
    return [...new Set([...idle(own, namespace), ...idle(everywhere, undefined)])].sort();
  }

  /** What was asked that the account may not do. */
  beyond({ own, everywhere, namespace }: Account): readonly string[] {
    const forbidden = this.#uses.filter(
      (use) =>
        !everywhere.some((rule) => allows(rule, use, undefined)) &&
        !own.some((rule) => allows(rule, use, namespace)),
    );
    return [...new Set(forbidden.map(({ verb, group, resource }) => spelt(verb, group, resource)))].sort();
  }
}

function allows(
  rule: RoleRule,
  { verb, group, resource, namespace, name }: Use,
  within: string | undefined,
): boolean {
  return (
    rule.verbs.includes(verb) &&
    rule.apiGroups.includes(group) &&
    rule.resources.includes(resource) &&
    (within === undefined || namespace === within) &&
    (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name)))
  );
}

const spelt = (verb: string, group: string, resource: string): string =>
  `${verb} ${resource}${group === "" ? "" : `.${group}`}`;
