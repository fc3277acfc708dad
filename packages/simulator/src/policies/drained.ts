import {
  Drain,
  drainDefaults,
  hintsFrom,
  parseConfig,
  parseDuration,
  unforeseen,
  type DrainOptions,
} from "@lameduck/drain";
import { options as table } from "@lameduck/options";
import type { Contender } from "./stopper.ts";

/** A policy of Lameduck in @lameduck/node: the same class that runs in production, and the library's way of closing. */
export function drained(name: string, options: DrainOptions, description = ""): Contender {
  const config = parseConfig(options);
  return {
    name,
    description,
    learns: config.policy.kind === "adaptive",
    recipe: { kind: "drained", name, options, description },
    ...asTheLibraryCloses(options),
    start: () => new Drain(config),
  };
}

/** The same with `LAMEDUCK_COORDINATOR` set: the coordinator reports when all consumers have converged. */
export function withCoordinator(name: string, options: DrainOptions, description = ""): Contender {
  return {
    ...drained(name, options, description),
    seesRelease: true,
    recipe: { kind: "withCoordinator", name, options, description },
  };
}

/** Hints as the library gives them; what is in flight has the reserve, as where no hook comes after it. */
export function asTheLibraryCloses(options: DrainOptions): Pick<Contender, "hints" | "finishBy"> {
  const config = parseConfig(options);
  const ramp = table.ramp.default;
  const killAt = parseDuration(options.grace ?? drainDefaults.grace, "grace") - config.prestop;
  return {
    hints: { from: hintsFrom(config, ramp), ramp },
    finishBy: killAt - unforeseen(killAt - config.cap),
  };
}

/** A sleep before a server that closes at SIGTERM: clients are not asked to leave, and requests in flight have until SIGKILL. */
export function slept(
  name: string,
  pod: Pick<DrainOptions, "grace" | "prestop" | "reserve">,
  delay: number,
  description = "",
): Contender {
  return bare(name, { ...pod, policy: "fixed", delay, floor: 0 }, description);
}

/** A policy outside the library. It neither asks clients to leave nor cuts anything before SIGKILL. */
export function bare(name: string, options: DrainOptions, description = ""): Contender {
  return {
    name,
    description,
    learns: false,
    recipe: { kind: "bare", name, options, description },
    start: () => new Drain(parseConfig(options)),
  };
}
