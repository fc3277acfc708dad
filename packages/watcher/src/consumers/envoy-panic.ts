import { unreadable } from "../consumer.ts";
import { fieldsOf, listOf, readJson } from "./ask.ts";

/**
 * The percentage of healthy hosts below which Envoy sends to all hosts of a cluster's priority, draining ones among them: its panic threshold. It is
 * Infinity where a host that drains may be chosen in any case, or where nothing is known.
 */
export type PanicThresholds = (cluster: string) => number;

/** Envoy's own, of a cluster that says nothing. */
const usual = 50;
/** Of the runtime, in place of what clusters say. */
const runtimeKey = "upstream.healthy_panic_threshold";
const mask = ["name", "common_lb_config", "lb_subset_config", "load_balancing_policy"].map(
  (field) => `cluster.${field}`,
);
const resources = ["static_clusters", "dynamic_active_clusters"];
/** For so long an answer counts. A threshold that is raised later is not seen before a release in any case. */
const countsMs = 5_000;

/** Reads them where a host drains, which is seldom: the answer names every cluster. */
export class PanicReader {
  readonly #ask: (path: string, signal: AbortSignal) => Promise<string>;
  readonly #place: string;
  #known: { readonly at: number; readonly thresholds: PanicThresholds } | undefined;

  constructor(ask: (path: string, signal: AbortSignal) => Promise<string>, place: string) {
    this.#ask = ask;
    this.#place = place;
  }

  async read(signal: AbortSignal): Promise<PanicThresholds> {
    const now = performance.now();
    if (this.#known && now - this.#known.at < countsMs) return this.#known.thresholds;
    const paths = resources.map((resource) => `/config_dump?resource=${resource}&mask=${mask.join()}`);
    const [runtime = "", ...dumps] = await Promise.all(
      ["/runtime", ...paths].map((path) => this.#ask(path, signal)),
    );
    this.#known = { at: now, thresholds: panicThresholds(dumps, runtime, this.#place) };
    return this.#known.thresholds;
  }
}

/** @throws {OperatorError} where an answer is none of Envoy's. */
export function panicThresholds(dumps: readonly string[], runtime: string, place: string): PanicThresholds {
  const ofAll = ofRuntime(runtime, place);
  const known = new Map<string, number>();
  for (const dump of dumps)
    for (const entry of listOf(fieldsOf(readJson(dump, place), place)["configs"], place)) {
      const cluster = fieldsOf(fieldsOf(entry, place)["cluster"], place);
      const { name } = cluster;
      if (typeof name !== "string") throw unreadable(place, "a cluster has no name");
      const own = choosesApart(cluster, place) ? Infinity : (ofAll ?? ofCluster(cluster, place));
      known.set(name, Math.max(own, known.get(name) ?? 0));
    }
  return (cluster) => known.get(cluster) ?? Infinity;
}

function ofRuntime(text: string, place: string): number | undefined {
  const { entries = {} } = fieldsOf(readJson(text, place), place);
  const { [runtimeKey]: entry } = fieldsOf(entries, place);
  if (entry === undefined) return undefined;
  const { final_value: value } = fieldsOf(entry, place);
  return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : Infinity;
}

function ofCluster(cluster: Readonly<Record<string, unknown>>, place: string): number {
  const { healthy_panic_threshold: threshold } = fieldsOf(cluster["common_lb_config"] ?? {}, place);
  if (threshold === undefined) return usual;
  // What is 0 is not written.
  const { value = 0 } = fieldsOf(threshold, place);
  return typeof value === "number" && value >= 0 ? Math.ceil(value) : Infinity;
}

/**
 * Whether Envoy chooses hosts apart from the share of healthy hosts in the whole cluster. Each subset of hosts has a share of its own. A host that a
 * request names, or that a session is kept to, may be one that drains.
 */
function choosesApart(cluster: Readonly<Record<string, unknown>>, place: string): boolean {
  const { lb_subset_config: subsets, load_balancing_policy: policy, common_lb_config: common } = cluster;
  const { override_host_status: kept } = fieldsOf(common ?? {}, place);
  return (
    subsets !== undefined ||
    /subset|override_host/i.test(textOf(policy, place)) ||
    /DRAINING/.test(textOf(kept, place))
  );
}

function textOf(value: unknown, place: string): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch (error) {
    throw unreadable(place, "something is nested too deeply", { cause: error });
  }
}
