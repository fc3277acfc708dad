import { options } from "@lameduck/options";
import { badOption } from "../errors.ts";
import { parseMatch, type ProbeRequest } from "../options/match.ts";
import { nestedOptions, pathList, pathsFrom } from "../options/nested-options.ts";
import type { Environment } from "../options/environment.ts";

export type IsProbe = (request: ProbeRequest) => boolean;

export interface ProbeOptions {
  /** Paths that only probes ask for, without query: "/healthz". */
  paths?: readonly string[];
  /** Further user agents: a text that the header begins with, or a pattern. */
  userAgents?: readonly (string | RegExp)[];
  /** Anything else: true for a probe. */
  match?: (request: ProbeRequest) => boolean;
}

/**
 * Beginnings of the user agents of kubelet probes, load-balancer health checks and metrics scrapers. They go on after the
 * deletion for as long as the pod lives, so that counting them would hold every pod to its cap.
 */
export const probeAgents: readonly string[] = [
  "kube-probe/",
  "GoogleHC/",
  "ELB-HealthChecker/",
  "Amazon-Route53-Health-Check-Service",
  "Edge Health Probe", // Azure Front Door
  "Load Balancer Agent", // Azure load balancer
  "Envoy/HC",
  "Consul Health Check",
  "Prometheus/",
  "vmagent",
  "otelcol",
  "Grafana Agent/",
  "GrafanaAgent/",
  "Alloy/",
  "Datadog Agent/",
  "Datadog-Agent",
  "Blackbox Exporter/",
];

/** The health service of gRPC, asked by kubelet's grpc probes and by service meshes. */
const grpcHealth = "/grpc.health.v1.Health/";

/** @param environment its list of paths counts where code says nothing. */
export function parseProbes(
  inCode?: ProbeOptions,
  morePaths: readonly string[] = [],
  environment: Environment = {},
): IsProbe {
  const known = ["paths", "userAgents", "match"] as const;
  const given = inCode === undefined ? probesIn(environment) : nestedOptions(inCode, "probes", known);
  const { userAgents = [], match } = given;
  const isMatch = parseMatch(match, "probes.match");
  const isAgentLike = (agent: unknown): boolean => typeof agent === "string" || agent instanceof RegExp;
  if (!Array.isArray(userAgents) || !userAgents.every(isAgentLike))
    throw badOption("probes.userAgents", "is not a list of texts and regular expressions");
  const listed = pathList(given.paths, "probes.paths");
  const paths = new Set([...listed, ...morePaths]);
  const agents = [...probeAgents, ...userAgents];
  return (request) => isAgent(userAgentOf(request), agents) || isPath(request.url, paths) || isMatch(request);
}

function probesIn(environment: Environment): ProbeOptions {
  return { paths: pathsFrom(environment, options.probes.variable) };
}

const userAgent = "user-agent";

function userAgentOf({ headers, rawHeaders }: ProbeRequest): string | string[] | undefined {
  if (!rawHeaders) return headers[userAgent];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === userAgent.length && name.toLowerCase() === userAgent) return rawHeaders[index + 1];
  }
  return undefined;
}

/** By search(), as test() remembers where a pattern with the flag g has matched, and begins there the next time. */
function isAgent(header: string | string[] | undefined, agents: readonly (string | RegExp)[]): boolean {
  if (typeof header !== "string") return false;
  return agents.some((agent) =>
    typeof agent === "string" ? header.startsWith(agent) : header.search(agent) >= 0,
  );
}

function isPath(url: string | undefined, known: ReadonlySet<string>): boolean {
  if (url === undefined) return false;
  if (url.startsWith(grpcHealth)) return true;
  return known.size > 0 && known.has(pathOf(url));
}

export function pathOf(url = ""): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
