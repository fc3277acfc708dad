import { parseDuration } from "@lameduck/drain";
import type { BareSenderEvent, HaproxySpec, NginxSpec } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import { freePort } from "../network/ports.ts";
import { findBinary, ownDirectory } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";

/** Time that a pod has for a connection. */
export const connectTimeoutMs = 5_000;

/** A running reverse proxy. */
export interface Proxy {
  readonly address: string;
  readonly port: number;
  readonly namesRequests: boolean;
  /** Makes it choose among exactly these; resolves when it does. */
  use(endpoints: readonly Endpoint[]): Promise<void>;
  /** What its log knows of requests that went wrong. */
  outcomes(): Promise<readonly ProxyOutcome[]>;
  close(): Promise<void>;
}

/** What a proxy is started with. */
export interface ProxyContext {
  readonly now: () => number;
  readonly emit: (event: BareSenderEvent) => void;
  /** The proxy ended without being asked to. */
  readonly died: (problem: string) => void;
}

/** What every proxy is started with: its program, a directory of its own, and where it listens. @throws {LoadError} */
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

/** The proxy once it is up; closed where it does not come up. */
export async function started(proxy: Proxy, up: Promise<unknown>): Promise<Proxy> {
  try {
    await up;
  } catch (error) {
    await proxy.close();
    throw error;
  }
  return proxy;
}
