import { z } from "zod";
import { stopReasons } from "./stop-reasons.ts";

/** Milliseconds on the run's clock. */
export const time = z.number();
/** Milliseconds. */
export const duration = z.number().nonnegative();
export const count = z.int().nonnegative();

/** What a schema describes, not to be changed by those who are given it. */
export type Immutable<T> = T extends object ? { readonly [K in keyof T]: Immutable<T[K]> } : T;

const container = z.string();

/** What happened to a pod, in the order it happened. */
export const podEvent = z.intersection(
  z.object({ at: time, pod: z.string() }),
  z.discriminatedUnion("type", [
    z.object({ type: z.literal("created") }),
    z.object({ type: z.literal("started"), container, pid: z.exactOptional(z.int()) }),
    z.object({ type: z.literal("listener-opened"), port: z.int() }),
    z.object({ type: z.literal("ready") }),
    z.object({ type: z.literal("unready") }),
    /** deletionTimestamp written: t = 0 of the termination. */
    z.object({ type: z.literal("deleted"), grace: duration, why: z.string() }),
    z.object({ type: z.literal("pre-stop-begun"), container }),
    z.object({
      type: z.literal("pre-stop-ended"),
      container,
      result: z.enum(["done", "failed", "cut"]),
      detail: z.exactOptional(z.string()),
    }),
    z.object({ type: z.literal("signalled"), container, signal: z.string() }),
    /** Reported by Lameduck's library or init inside the pod. */
    z.object({
      type: z.literal("phase"),
      phase: z.enum(["lame-duck", "closing", "closed"]),
      reason: z.exactOptional(z.enum(stopReasons)),
      detail: z.exactOptional(z.record(z.string(), z.unknown())),
    }),
    z.object({ type: z.literal("listener-closed"), port: z.int() }),
    /** SIGKILL at the end of the grace period. */
    z.object({
      type: z.literal("killed"),
      container,
      /** What was seen of the process just before, if anything was. */
      because: z.exactOptional(z.string()),
    }),
    z.object({
      type: z.literal("exited"),
      container,
      code: z.exactOptional(z.int()),
      signal: z.exactOptional(z.string()),
      /** Why, if it is known: "OOMKilled". */
      detail: z.exactOptional(z.string()),
    }),
    z.object({ type: z.literal("crashed"), container, detail: z.string() }),
    /** All containers have stopped and the address is no longer there. */
    z.object({ type: z.literal("gone") }),
  ]),
);

/** What a sender did about a pod. */
export const senderEvent = z.intersection(
  z.object({ at: time, sender: z.string() }),
  z.discriminatedUnion("type", [
    /** It may choose the pod from now on. */
    z.object({ type: z.literal("added"), pod: z.string() }),
    /** It no longer chooses the pod for new connections. */
    z.object({ type: z.literal("converged"), pod: z.string() }),
    /** It cut established connections to the pod. */
    z.object({ type: z.literal("severed"), pod: z.string(), connections: count }),
    /** The sender was left without a single endpoint, or has one again. */
    z.object({ type: z.literal("empty") }),
    z.object({ type: z.literal("filled") }),
    /** It reloaded itself; connections may have been cut by that, where known until when. */
    z.object({ type: z.literal("reloaded"), until: z.exactOptional(time) }),
  ]),
);

export type PodEvent = Immutable<z.infer<typeof podEvent>>;
export type SenderEvent = Immutable<z.infer<typeof senderEvent>>;
