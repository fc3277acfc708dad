import { shown } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import type { Observed } from "../observed.ts";
import { phases } from "../events.ts";

interface Gauge {
  set(value: number): void;
}

interface GaugeOptions {
  name: string;
  help: string;
  registers?: never;
  collect(this: Gauge): void;
}

/** The part of prom-client and @prometheus-io/client that is used: pass the module itself. */
export interface MetricsModule {
  Gauge: new (options: GaugeOptions) => unknown;
}

/**
 * Registers gauges that are read only when somebody scrapes. `registers` as prom-client takes it; default: its global registry.
 * @throws {LameduckError}
 */
export function addMetrics(
  duck: Pick<Observed, "state" | "on">,
  module: MetricsModule,
  registers?: readonly unknown[],
): void {
  if (typeof (module as Partial<MetricsModule> | undefined)?.Gauge !== "function")
    throw badOption("metrics", `${shown(module)} has no Gauge: pass the module prom-client itself`);
  if (registers !== undefined && !Array.isArray(registers))
    throw badOption("metrics", `${shown(registers)} is not a list of registries`);
  let hold = 0;
  duck.on("closing", (event) => {
    if (event.phase === "closing") hold = event.hold;
  });
  const gauge = (name: string, help: string, value: () => number): void => {
    const collect = function (this: Gauge): void {
      this.set(value());
    };
    const options: GaugeOptions = { name, help, collect };
    if (registers) options.registers = registers as never;
    // oxlint-disable-next-line no-new -- a gauge registers itself; nobody needs to hold it
    new module.Gauge(options);
  };
  gauge("lameduck_phase", phases.map((phase, index) => `${index} ${phase}`).join(", "), () =>
    phases.indexOf(duck.state().phase),
  );
  gauge(
    "lameduck_in_flight",
    "Requests in flight; counted from the beginning of a termination",
    () => duck.state().inFlight,
  );
  gauge("lameduck_open_connections", "Open connections", () => duck.state().open);
  gauge("lameduck_leases", "Work in progress that is no request", () => duck.state().leases);
  gauge("lameduck_hold_seconds", "How long the last hold was, 0 before its end", () => hold / 1_000);
}
