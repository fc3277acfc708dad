import { Gauge, type Registry } from "@prometheus-io/client";

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
