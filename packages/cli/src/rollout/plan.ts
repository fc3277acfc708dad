import { neededRules, rightsYaml, type OpenRoute, type Target } from "@lameduck/rollout";
import type { RolloutOptions } from "./options.ts";
import type { RolloutRequest } from "./settings.ts";

/** What will be done and sent, before it is. */
export function planLines(
  request: RolloutRequest,
  options: RolloutOptions,
  target: Target,
  routes: readonly OpenRoute[],
): string[] {
  const { action, connection, reference } = request;
  return [
    `cluster   context ${connection.context}, ${connection.server.origin}, namespace ${reference.namespace}`,
    `target    ${reference.kind}/${reference.name}, ${target.replicas} replica${target.replicas === 1 ? "" : "s"}` +
      (target.services.length > 0 ? `, Service ${target.services.join(", ")}` : ""),
    `action    ${action.plan}`,
    ...(routes.length === 0
      ? ["load      none: no --url; only the pods are watched"]
      : [
          `load      ${options.rps} requests/s (GET), ${options.mode === "mixed" ? "half on new, half on kept-alive connections" : `on ${options.mode === "new" ? "new" : "kept-alive"} connections`}, ` +
            `at most ${options.requestsMax.toLocaleString("en")} requests or ${options.duration}, to`,
          ...routes.map(
            ({ name, url, address, port }) => `          ${name}: ${url.href} (${address}:${port})`,
          ),
        ]),
    `time      ${options.timeout} at most`,
  ];
}

/** The rights as manifests, with words of their own for who has to grant them. */
export function rightsText({ reference, action }: RolloutRequest): string {
  const rules = neededRules(reference, action);
  const optional = rules.filter(({ without }) => without !== undefined);
  return [
    `# The least rights for this command; bind them with a RoleBinding (Role) and a ClusterRoleBinding (ClusterRole).`,
    ...optional.map(
      ({ resource, verbs, without }) =>
        `# Without ${verbs.join(", ")} on ${resource}: not known is ${without}.`,
    ),
    rightsYaml(reference.namespace, rules),
  ].join("\n");
}
