import { count } from "@lameduck/accounting/words";
import { shownUrl } from "@lameduck/load";
import type { Rule } from "@lameduck/kube";
import { rightsYaml } from "@lameduck/kube/rights-yaml";
import type { Target, TargetReference } from "@lameduck/rollout";
import type { RolloutOptions } from "./options.ts";
import type { RolloutRequest } from "./settings.ts";

/** What will be done and sent, before it is. */
export function planLines(request: RolloutRequest, options: RolloutOptions, target: Target): string[] {
  const { action, connection, reference } = request;
  return [
    `cluster   context ${connection.context}, ${connection.server.origin}, namespace ${reference.namespace}`,
    `target    ${reference.kind}/${reference.name}, ${count(target.replicas, "replica")}` +
      (target.services.length > 0 ? `, Service ${target.services.join(", ")}` : ""),
    `action    ${action.plan}`,
    ...loadLines(request, options),
    `time      ${options.timeout} at most`,
  ];
}

function loadLines({ routes, reference, bounds }: RolloutRequest, options: RolloutOptions): string[] {
  const { requests, rps, pooled, inCluster } = options;
  if (requests) return [`load      none of its own: read afterwards from ${requests.join(", ")}`];
  if (routes.length === 0) return ["load      none (no --url): only the pods are watched"];
  return [
    `load      ${rps} requests/s (${requestWords(options)}) ${connectionsOf(pooled)}, to`,
    ...routes.map(({ name, url }) => `          ${name}: ${shownUrl(url)}`),
    ...(inCluster !== undefined
      ? [
          `          from a Job of ${count(inCluster, "pod")} in namespace ${reference.namespace}, removed afterwards`,
        ]
      : []),
    `          ${bounds.words}`,
  ];
}

function connectionsOf(pooled: number): string {
  if (pooled === 0) return "on new connections";
  if (pooled === 1) return "on kept-alive connections";
  return `${Math.round(pooled * 100)} % on kept-alive connections, the others on new ones`;
}

/** "POST, body of body.json, header authorization": no value, it may be a secret. */
function requestWords({ method, body, header = [], protocol }: RolloutOptions): string {
  const verb = method?.toUpperCase() ?? (body === undefined ? "GET" : "POST");
  const names = header.map((text) => text.split(":")[0]?.toLowerCase() ?? "");
  return [
    protocol === undefined ? verb : `${protocol}, ${verb}`,
    ...(body === undefined ? [] : [body.startsWith("@") ? `body of ${body.slice(1)}` : "a body"]),
    ...(names.length === 0 ? [] : [`header ${names.join(", ")}`]),
  ].join(", ");
}

/** The rights as manifests, with words of their own for who has to grant them. */
export function rightsText(reference: TargetReference, rules: readonly Rule[]): string {
  const optional = rules.filter(({ without }) => without !== undefined);
  return [
    `# The least rights for this command; bind them with a RoleBinding (Role) and a ClusterRoleBinding (ClusterRole).`,
    ...optional.map(
      ({ resource, verbs, without }) =>
        `# ${verbs.join(" and ")} on ${resource} may be left out; not known is then: ${without}.`,
    ),
    rightsYaml(reference.namespace, rules),
  ].join("\n");
}
