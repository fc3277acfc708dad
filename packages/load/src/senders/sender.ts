import type { Random, SenderEvent } from "@lameduck/accounting";
import type { Change } from "./view.ts";
import type { Dial } from "../protocols/dialer.ts";
import type { Exchange } from "../protocols/exchange.ts";

/** A sender inside the generator: takes each request to a pod, or to its proxy. */
export interface LoadSender {
  send(exchange: Exchange): void;
  learn(change: Change): void;
  stop(): void;
}

type WithoutSender<T> = T extends unknown ? Omit<T, "sender" | "at"> : never;
/** What a sender did; name and time are added where it is reported. */
export type BareSenderEvent = WithoutSender<SenderEvent>;

/** What the generator gives to each sender. */
export interface SenderContext {
  readonly now: () => number;
  readonly random: Random;
  readonly dial: Dial;
  /** How many connections pooled requests share, of one Service and of one pod; undefined where they do not share. */
  readonly shared: { readonly service: number; readonly pod: number } | undefined;
  /** A plain HTTP/1.1 request is something the pods understand. */
  readonly speaksHttp1: boolean;
  readonly emit: (event: BareSenderEvent) => void;
  /** Least time between two applications of news, milliseconds. */
  readonly spacing: number;
}
