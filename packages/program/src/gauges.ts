import { readdirSync } from "node:fs";
import { Counter, Gauge, type Registry } from "@prometheus-io/client";
import { lameduckVersion } from "@lameduck/protocol";

/** A gauge whose value is looked up when somebody asks. */
export function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  void new Gauge({
    name,
    help,
    registers: [registry],
    collect(): void {
      this.set(value());
    },
  });
}

/** The same, by the value of one label. */
export function gauges(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  values: () => Iterable<readonly [string, number]>,
): void {
  void new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect(): void {
      this.reset();
      for (const [key, value] of values()) this.set({ [label]: key }, value);
    },
  });
}

/**
 * Of what runs here, and what it takes: by the names that every dashboard of processes reads. The client's own collector observes each
 * collection of garbage besides, and keeps timers.
 */
export function processMetrics(registry: Registry, component: string): void {
  new Gauge({
    name: "lameduck_build_info",
    help: "Always 1: which of Lameduck's processes this is, and of which version.",
    labelNames: ["component", "version"],
    registers: [registry],
  }).set({ component, version: lameduckVersion }, 1);
  void new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time of the process, in user and system mode.",
    registers: [registry],
    collect(): void {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  gauge(registry, "process_resident_memory_bytes", "Memory that the process has in RAM.", () =>
    process.memoryUsage.rss(),
  );
  gauge(registry, "process_start_time_seconds", "When the process began, since 1970.", () =>
    Math.round(performance.timeOrigin / 1_000),
  );
  gauge(registry, "process_open_fds", "Open file descriptors; 0 where the system does not tell.", openFiles);
}

function openFiles(): number {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return 0;
  }
}

/** Names that one label of a metric takes. */
const mostNames = 100;

/** @returns what a label takes for a name: itself for the first hundred, "others" beyond them, so that the metric stays small. */
export function firstNames(): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < mostNames) known.add(name);
    return known.has(name) ? name : "others";
  };
}
