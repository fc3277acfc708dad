import { parseDuration } from "@lameduck/drain/duration";
import type { BareSenderEvent, HaproxySpec, NginxSpec } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import { freePort } from "../network/ports.ts";
import { findBinary, ownDirectory } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";

/** Time in which a pod must accept a connection. */
export const connectTimeoutMs = 5_000;

/** A running reverse proxy. */
export interface Proxy {
  readonly address: string;
  readonly port: number;
  readonly namesRequests: boolean;
  /** Makes the proxy choose among exactly these endpoints. Resolves when it does. */
  use(endpoints: readonly Endpoint[]): Promise<void>;
  /** Requests that went wrong, by the proxy's log. */
  outcomes(): Promise<readonly ProxyOutcome[]>;
  close(): Promise<void>;
}

/** The run's side of a proxy: the run's clock, and the receivers of the proxy's events. */
export interface ProxyContext {
  readonly now: () => number;
  readonly emit: (event: BareSenderEvent) => void;
  /** Called when the proxy has ended without being asked to. */
  readonly died: (problem: string) => void;
}

/** Prepares the start of a proxy: its program, a directory of its own, and the address where it listens. @throws {LoadError} */
export async function preparation(spec: HaproxySpec | NginxSpec) {
  const file = findBinary(spec.binary ?? spec.kind, `sender ${spec.name}`);
  const directory = await ownDirectory(spec.kind);
  const address = spec.address ?? "127.0.0.1";
  return {
    file,
    directory,
    address,
    port: await freePort(address),
    /** Source address of connections to pods. */
    source: spec.address,
    timeout: parseDuration(spec.timeout ?? "60s", "timeout"),
  };
}

/** Durations are milliseconds. */
export type ProxySettings = Omit<Awaited<ReturnType<typeof preparation>>, "file" | "directory">;

/** Returns the proxy once it is up. A proxy that does not come up is closed. */
export async function started(proxy: Proxy, up: Promise<unknown>): Promise<Proxy> {
  try {
    await up;
  } catch (error) {
    await proxy.close();
    throw error;
  }
  return proxy;
}
