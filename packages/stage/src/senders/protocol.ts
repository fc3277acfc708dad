import type { LoadErrorCode, Change, ProxySpec } from "@lameduck/load";
import type { SenderEvent } from "@lameduck/accounting";
import type { ProxyOutcome } from "./proxy-outcome.ts";

/** Messages from the fleet to a proxy's host. */
export type ToHost =
  | { readonly type: "prepare"; readonly origin: string; readonly spec: ProxySpec; readonly spacing: number }
  | { readonly type: "change"; readonly change: Change }
  /** The load is over: report what the log has. */
  | { readonly type: "finish" };

/** Messages from a proxy's host to the fleet. */
export type FromHost =
  | { readonly type: "listening"; readonly place: ProxyPlace }
  | { readonly type: "event"; readonly event: SenderEvent }
  | { readonly type: "outcomes"; readonly outcomes: readonly ProxyOutcome[] }
  | { readonly type: "failed"; readonly code: LoadErrorCode; readonly problem: string };

/** Where callers reach a proxy. */
export interface ProxyPlace {
  readonly address: string;
  readonly port: number;
  /** Requests have to carry their number, for the proxy's log. */
  readonly namesRequests: boolean;
}
