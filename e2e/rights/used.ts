import { readFile } from "node:fs/promises";
import type { RoleRule } from "@lameduck/operator";
import type { Account } from "./accounts.ts";
import { isGranted, spelt, type Question } from "./questions.ts";

/** A line of the API server's audit log, as far as it is read here. */
interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly user: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
}

interface Use {
  readonly question: Question;
  readonly code: number;
  /** Of the token's pod: what a test asks for with the account's token has none. */
  readonly pod: string | undefined;
}

/** What an account has asked the API server for, against what it may. */
export interface UsedRights {
  readonly account: string;
  readonly requests: number;
  /** Each with how often. */
  readonly used: Readonly<Record<string, number>>;
  readonly unused: readonly string[];
  /** What was refused (403), and its roles do not allow. */
  readonly forbidden: readonly string[];
  /** What was refused although its roles allow it: an API server that has just started has not read them yet. */
  readonly refusedEarly: readonly string[];
}

/** @param podsOnly leaves out what was asked with tokens that belong to no pod. */
export async function usedRights(file: string, account: Account, podsOnly = false): Promise<UsedRights> {
  const uses = (await usesIn(file, account)).filter(({ pod }) => !podsOnly || pod !== undefined);
  const allowed = uses.filter(({ code }) => code !== 403);
  const rights = rightsOf(account);
  const used: Record<string, number> = {};
  const unused: string[] = [];
  for (const { name, grants } of rights) {
    const count = allowed.filter(({ question }) => grants(question)).length;
    if (count > 0) used[name] = (used[name] ?? 0) + count;
    else unused.push(name);
  }
  const refused = uses.filter(({ code }) => code === 403).map(({ question }) => question);
  const { yes = [], no = [] } = Object.groupBy(refused, (one) => (isGranted(one, account) ? "yes" : "no"));
  return {
    account: `${account.namespace}/${account.name}`,
    requests: uses.length,
    used,
    // Two rules may name the same, one of them in the account's own namespace only.
    unused: [...new Set(unused)].filter((name) => !(name in used)).sort(),
    forbidden: namesOf(no),
    refusedEarly: namesOf(yes),
  };
}

const namesOf = (questions: readonly Question[]): string[] => [...new Set(questions.map(spelt))].sort();

interface Right {
  readonly name: string;
  readonly grants: (question: Question) => boolean;
}

/** One verb on one resource each. */
function rightsOf({ namespace, everywhere, own }: Account): Right[] {
  const single = (rules: readonly RoleRule[], isOwn: boolean): Right[] =>
    rules.flatMap((rule) =>
      rule.verbs.flatMap((verb) =>
        rule.apiGroups.flatMap((group) =>
          rule.resources.map((resource) => {
            const one = [{ ...rule, apiGroups: [group], verbs: [verb], resources: [resource] }];
            const where = isOwn ? { everywhere: [], own: one } : { everywhere: one, own: [] };
            return {
              name: spelt({ verb, group, resource }),
              grants: (question: Question) => isGranted(question, { ...where, namespace }),
            };
          }),
        ),
      ),
    );
  return [...single(everywhere, false), ...single(own, true)];
}

async function usesIn(file: string, { namespace, name }: Account): Promise<Use[]> {
  const user = `system:serviceaccount:${namespace}:${name}`;
  // The last line may be unfinished.
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line.endsWith("}"));
  const events = lines.map((line) => JSON.parse(line) as AuditEvent);
  // A watch has a line when it begins, and one when it ends.
  const requests = new Map(events.map((event) => [event.auditID, event]));
  return [...requests.values()].flatMap((event): Use[] => {
    const { resource, apiGroup: group = "", ...ref } = event.objectRef ?? {};
    // Anybody may ask what the API server serves.
    if (event.user.username !== user || resource === undefined) return [];
    const { subresource, namespace: within, name: of } = ref;
    return [
      {
        question: {
          verb: event.verb,
          group,
          resource,
          ...(subresource === undefined ? {} : { subresource }),
          ...(within === undefined ? {} : { namespace: within }),
          ...(of === undefined ? {} : { name: of }),
        },
        code: event.responseStatus?.code ?? 0,
        pod: event.user.extra?.["authentication.kubernetes.io/pod-name"]?.[0],
      },
    ];
  });
}
