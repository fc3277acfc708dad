import { Drain, parseConfig, type DrainOptions } from "@lameduck/drain";
import type { Contender } from "./stopper.ts";

/** A policy of Lameduck: the same class that runs in production. */
export function drained(name: string, options: DrainOptions, description = ""): Contender {
  const config = parseConfig(options);
  const learns = config.policy.kind === "adaptive";
  return {
    name,
    description,
    learns,
    recipe: { kind: "drained", name, options, description },
    hintsAfter: learns || config.policy.kind === "quiet" ? config.floor : undefined,
    start: () => new Drain(config),
  };
}
