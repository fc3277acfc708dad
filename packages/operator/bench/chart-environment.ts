import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const values = join(import.meta.dirname, "..", "chart", "lameduck", "values.yaml");

interface Values {
  readonly acknowledgements: Readonly<
    Record<"coordinator" | "watcher" | "balancers", { readonly memory: Readonly<Record<string, string>> }>
  >;
}

/** How the chart bounds the memory of a process: what is measured is what is installed. */
export function chartEnvironment(
  of: "coordinator" | "watcher" | "balancers",
): Readonly<Record<string, string>> {
  return (parse(readFileSync(values, "utf8")) as Values).acknowledgements[of].memory;
}
