import { messageOf } from "@lameduck/drain/common";
import { options } from "@lameduck/options";
import { badOption, nodeErrors } from "../errors.ts";
import type { Environment } from "./environment.ts";
import { nestedOptions, pathList, pathsFrom } from "./nested-options.ts";

/** What is needed of a request to tell a probe. Headers are in lower case, as Node gives them. */
export interface ProbeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values in turn, where there are such: cheaper to look into, as Node makes `headers` only when they are asked for. */
  readonly rawHeaders?: readonly string[];
}

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

export type IsStream = (request: ProbeRequest) => boolean;

export interface StreamOptions {
  /** Paths of which the answers last as long as the client likes: long polls, endless downloads. Without query. */
  paths?: readonly string[];
  match?: (request: ProbeRequest) => boolean;
}

/**
 * Which requests are streams by their nature, beside server-sent events. They do not count as in flight, or they would hold every pod to its cap.
 * They are ended when closing begins.
 * @param environment its list of paths counts where code says nothing.
 */
export function parseStreams(inCode?: StreamOptions, environment: Environment = {}): IsStream {
  const { paths, match } =
    inCode === undefined ? streamsIn(environment) : nestedOptions(inCode, "streams", ["paths", "match"]);
  const isMatch = parseMatch(match, "streams.match");
  const known = pathList(paths, "streams.paths");
  return (request) =>
    isSocketIoPoll(request) || (known.size > 0 && known.has(pathOf(request.url))) || isMatch(request);
}

function streamsIn(environment: Environment): StreamOptions {
  return { paths: pathsFrom(environment, options.streams.variable) };
}

/** A poll of socket.io hangs for up to 25 s; its POSTs are ordinary requests. */
function isSocketIoPoll({ method, url }: ProbeRequest): boolean {
  return method === "GET" && url !== undefined && url.includes("transport=polling") && url.includes("EIO=");
}

/**
 * A function of the application's that is asked about each request, also before SIGTERM. It is asked within the request's own event, so an error of
 * it would be the request's. An error therefore counts as no, with one warning. So does an answer other than true, such as a promise.
 * @throws {LameduckError} for what is no function
 */
function parseMatch(match: unknown, option: string): (request: ProbeRequest) => boolean {
  if (match === undefined) return () => false;
  if (typeof match !== "function") throw badOption(option, "is not a function");
  let warned = false;
  return (request) => {
    try {
      return match(request) === true;
    } catch (error) {
      if (!warned) warn(option, error);
      warned = true;
      return false;
    }
  };
}

function warn(option: string, error: unknown): void {
  const code = "LAMEDUCK_MATCH_FAILED";
  const problem = messageOf(error);
  process.emitWarning(`${option}: ${problem}; ${nodeErrors[code]}`, { type: "LameduckWarning", code });
}
