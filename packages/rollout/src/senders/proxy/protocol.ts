import type { LoadErrorCode } from "../../load/errors.ts";
import type { SenderEvent } from "../../model/timeline.ts";
import type { Change } from "../change.ts";
import type { ProxySpec } from "../spec.ts";
import type { Fate } from "./fate.ts";
import type { ProxyPlace } from "./hosts.ts";

/** What the fleet tells a proxy's host. */
export type ToHost =
  | { readonly type: "prepare"; readonly origin: string; readonly spec: ProxySpec; readonly spacing: number }
  | { readonly type: "change"; readonly change: Change }
  /** The load is over: tell what the log knows. */
  | { readonly type: "finish" };

/** What a proxy's host tells the fleet. */
export type FromHost =
  | { readonly type: "listening"; readonly place: ProxyPlace }
  | { readonly type: "event"; readonly event: SenderEvent }
  | { readonly type: "fates"; readonly fates: readonly Fate[] }
  | { readonly type: "failed"; readonly code: LoadErrorCode; readonly problem: string };
