import type { Registry } from "@prometheus-io/client";
import { CoordinatorMetrics } from "../../coordinator/src/metrics.ts";
import { recordMetrics } from "../../coordinator/src/records/metrics.ts";
import { WebhookMetrics } from "../../webhook/src/metrics.ts";

/** What webhook and coordinator show when Prometheus asks: each series' name with its labels. Watchers show nothing. */
export function exported(): ReadonlyMap<string, ReadonlySet<string>> {
  const none = (): never => {
    throw new Error("nobody asks for values here");
  };
  const webhook = new WebhookMetrics();
  webhook.registerGauges({
    notReady: none,
    isLeader: none,
    losingWorkloads: none,
    expires: none,
    objects: none,
  });
  const coordinator = new CoordinatorMetrics();
  const gauges = { notReady: none, status: none, head: none, parked: none, unheard: none };
  coordinator.registerGauges({ ...gauges, terminations: none, objects: none });
  recordMetrics(coordinator.registry, none);
  return new Map([webhook.registry, coordinator.registry].flatMap(seriesOf));
}

interface Described {
  readonly name: string;
  readonly type?: string;
  readonly labelNames?: readonly string[];
}

function seriesOf(registry: Registry): (readonly [string, ReadonlySet<string>])[] {
  return (registry.getMetricsAsArray() as unknown as Described[]).flatMap((metric) => {
    const { name, labelNames = [] } = metric;
    const type = metric.constructor.name;
    const own = [...labelNames];
    if (type === "Histogram")
      return [
        [`${name}_bucket`, new Set([...own, "le"])] as const,
        [`${name}_sum`, new Set(own)] as const,
        [`${name}_count`, new Set(own)] as const,
      ];
    if (type === "Summary")
      return [[`${name}_sum`, new Set(own)] as const, [`${name}_count`, new Set(own)] as const];
    return [[name, new Set(own)] as const];
  });
}

/** Labels that Prometheus itself gives to what it scrapes. */
const scraped = new Set(["job", "instance"]);

/** What a query names and nobody exports: a metric, or a label of one that it is chosen or summed by. */
export function unknownIn(query: string, known = exported()): string[] {
  const named = [...query.matchAll(/\b(lameduck_\w+|process_\w+)(?:\{([^}]*)\})?/g)];
  if (named.length === 0) return [`no metric of Lameduck in ${query}`];
  const unknown = named.flatMap(([, name = "", chosen = ""]) => {
    const labels = known.get(name);
    if (labels === undefined) return [name];
    return [...chosen.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)]
      .map(([, label = ""]) => label)
      .filter((label) => !labels.has(label))
      .map((label) => `${label} of ${name}`);
  });
  const all = new Set([...scraped, ...named.flatMap(([, name = ""]) => [...(known.get(name) ?? [])])]);
  const grouped = [...query.matchAll(/\b(?:by|on|group_left) ?\(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(/, */).filter(Boolean),
  );
  return [...unknown, ...grouped.filter((label) => !all.has(label)).map((label) => `${label} in ${query}`)];
}
