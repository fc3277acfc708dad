import { parseDuration } from "@lameduck/drain";
import { checkInClusterOptions, parseRoutes, type Route, type RouteManner } from "@lameduck/load";
import type { ClusterConnection } from "@lameduck/kube";
import {
  drain,
  isName,
  parseTarget,
  remove,
  restart,
  scale,
  watch,
  type Action,
  type TargetReference,
} from "@lameduck/rollout";
import { connectionOf } from "../cluster/connection.ts";
import { badOption } from "../errors.ts";
import { checkResultFiles } from "../results.ts";
import { flagOf, mustBeImage } from "../options.ts";
import { contentOf, requestFlags, requestOf } from "../request-options.ts";
import { loadBounds, type LoadBounds } from "./bounds.ts";
import type { RolloutOptions } from "./options.ts";

/** Everything that can be known without asking the cluster. Durations are milliseconds. */
export interface RolloutRequest {
  readonly connection: ClusterConnection;
  readonly reference: TargetReference;
  readonly action: Action;
  readonly routes: readonly Route[];
  readonly pooledShare: number;
  readonly bounds: LoadBounds;
  readonly warmUp: number;
  readonly settle: number;
  readonly timeout: number;
}

/** @throws coded errors that name the option, the kubeconfig's entry or the target. */
export function rolloutRequest(target: string, options: RolloutOptions): RolloutRequest {
  checkResultFiles(options);
  // A mistake in the target's name is reported before a kubeconfig is looked for.
  parseTarget(target, options.namespace ?? "default");
  const routes = parseRoutes(options.url ?? [], mannerOf(options));
  if (routes.length === 0)
    for (const name of [...requestFlags, "caFile", "insecure"] as const)
      if (options[name] !== undefined) throw badOption(flagOf(name), "goes with --url only");
  if (routes.length > 0 && options.requests) throw badOption("--requests", "cannot be given with --url");
  if (options.image !== undefined) mustBeImage("--image", options.image);
  if (options.inCluster)
    checkInClusterOptions({ parallel: options.inCluster, routes, maxRequests: options.requestsMax });
  else if (options.image !== undefined) throw badOption("--image", "goes with --in-cluster only");
  if (options.requestsMax !== undefined && options.requestsMax < routes.length)
    throw badOption(
      "--requests-max",
      `${options.requestsMax} is less than one request for each --url (${routes.length})`,
    );
  const chosen = chosenAction(options);
  const durations = {
    warmUp: parseDuration(options.warmUp, "--warm-up"),
    settle: parseDuration(options.settle, "--settle"),
    timeout: parseDuration(options.timeout, "--timeout"),
  };
  const bounds = loadBounds(options, durations);
  const connection = connectionOf(options);
  const reference = parseTarget(target, options.namespace ?? connection.namespace);
  return {
    connection,
    reference,
    action: chosen(reference),
    routes,
    pooledShare: options.pooled,
    bounds,
    ...durations,
  };
}

/** The form of every request, and the trusted certificates. */
function mannerOf(options: RolloutOptions): RouteManner {
  const { protocol, caFile, insecure } = options;
  if (insecure && caFile !== undefined) throw badOption("--ca-file", "cannot be given with --insecure");
  const tls = {
    ...(insecure ? { verify: false } : {}),
    ...(caFile === undefined ? {} : { ca: contentOf("--ca-file", caFile).toString("utf8") }),
  };
  return { ...(protocol === undefined ? {} : { protocol }), request: requestOf(options), tls };
}

type Chosen = (reference: TargetReference) => Action;

function chosenAction(options: RolloutOptions): Chosen {
  const { pods = 1, scale: replicas, drain: node } = options;
  const given: [name: string, action: Chosen][] = [];
  if (options.restart) given.push(["--restart", restart]);
  if (replicas !== undefined) given.push(["--scale", (target) => scale(target, replicas)]);
  if (options.delete) given.push(["--delete", (target) => remove(target, { how: "delete", pods })]);
  if (options.evict) given.push(["--evict", (target) => remove(target, { how: "evict", pods })]);
  if (node !== undefined && !isName(node))
    throw badOption("--drain", `"${node}" cannot be the name of a node`);
  if (node !== undefined) given.push(["--drain", (target) => drain(target, node)]);
  if (options.watch) given.push(["--watch", watch]);
  const [first, second] = given;
  if (!first)
    throw badOption(
      "lameduck rollout",
      "say what is to happen: --restart, --scale N, --delete, --evict, --drain NODE or --watch",
    );
  if (second) throw badOption(second[0], `cannot be given with ${first[0]}`);
  if (options.pods !== undefined && first[0] !== "--delete" && first[0] !== "--evict")
    throw badOption("--pods", "goes with --delete and --evict only");
  return first[1];
}
