import { servers, type Protocol } from "./servers.ts";

/** As shipped, or told to go on serving for `delay` before it closes and to give what is in flight time. */
export type Configuration = "default" | "best";

export interface Cell {
  readonly protocol: Protocol;
  readonly library: string;
  readonly configuration: Configuration;
}

/**
 * Longer than the slowest sender: they converge within 10 s, the endpoint controller's retries apart, which add up to 4 s here. What a
 * person would choose who knows all that.
 */
export const bestDelay = 15_000;

export const protocols = Object.keys(servers) as readonly Protocol[];

export const ours = "lameduck";

export const peers = [
  "terminus",
  "lightship",
  "http-terminator",
  "stoppable",
  "http-graceful-shutdown",
  "close-with-grace",
] as const;

/** Libraries that take an HTTP server cannot be given a gRPC server; those that call a function of their user's can stop anything. */
const callers: ReadonlySet<string> = new Set([ours, "lightship", "close-with-grace"]);

export function supports(library: string, protocol: Protocol): boolean {
  return protocol !== "grpc" || callers.has(library);
}

/** Those in which libraries differ by more than how they end connections come first. */
const order: readonly Protocol[] = ["http", "ws", "h2c", "sse", "grpc", "https", "h2"];

/** In the order of interest: ours, then the others at their best, then as shipped; protocol by protocol. */
export function allCells(): Cell[] {
  const cells = (libraries: readonly string[], configuration: Configuration): Cell[] =>
    order.flatMap((protocol) =>
      libraries
        .filter((library) => supports(library, protocol))
        .map((library) => ({ protocol, library, configuration })),
    );
  return [...cells([ours], "default"), ...cells(peers, "best"), ...cells(peers, "default")];
}
