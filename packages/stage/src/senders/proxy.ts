import type { BareSenderEvent } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import type { ProxyOutcome } from "./proxy-outcome.ts";

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
  /** It ended although nobody asked it to. */
  readonly died: (problem: string) => void;
}
