import { extname } from "node:path";
import type { RunClock, SenderEvent } from "@lameduck/accounting";
import { LoadError, type LoadErrorCode, type Change, Child, type ProxySpec } from "@lameduck/load";
import type { ProxyOutcome } from "./proxy-outcome.ts";

interface Host {
  readonly child: Child<ToHost, FromHost>;
  readonly outcomes: Promise<readonly ProxyOutcome[]>;
}

interface ProxyHostsOptions {
  readonly clock: RunClock;
  readonly emit: (event: SenderEvent) => void;
  readonly failed: (error: LoadError) => void;
}

/** The proxies of a run, each in the care of a process of its own. */
export class ProxyHosts {
  readonly #options: ProxyHostsOptions;
  readonly #hosts = new Map<string, Host>();

  constructor(options: ProxyHostsOptions) {
    this.#options = options;
  }

  async start(proxies: readonly ProxySpec[], spacing: number): Promise<ReadonlyMap<string, ProxyPlace>> {
    const places = proxies.map(async (spec) => [spec.name, await this.#start(spec, spacing)] as const);
    return new Map(await Promise.all(places));
  }

  learn(change: Change): void {
    this.#hosts.get(change.sender)?.child.send({ type: "change", change });
  }

  /** What the proxies' logs know of requests that went wrong, by the requests' numbers. */
  async outcomes(): Promise<ReadonlyMap<number, ProxyOutcome>> {
    const all = await Promise.all(
      [...this.#hosts.values()].map(({ child, outcomes }) => {
        child.send({ type: "finish" });
        return outcomes;
      }),
    );
    return new Map(all.flat().map((outcome) => [outcome.id, outcome]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map(({ child }) => child.close()));
  }

  #start(spec: ProxySpec, spacing: number): Promise<ProxyPlace> {
    const place = Promise.withResolvers<ProxyPlace>();
    const outcomes = Promise.withResolvers<readonly ProxyOutcome[]>();
    const failed = (problem: string, code: LoadErrorCode = "LAMEDUCK_SENDER_FAILED"): void =>
      this.#options.failed(new LoadError(code, `sender ${spec.name}`, problem));
    const child = new Child<ToHost, FromHost>({
      program: new URL(`./host-process${extname(import.meta.url)}`, import.meta.url),
      received: (message) => {
        switch (message.type) {
          case "listening":
            place.resolve(message.place);
            break;
          case "event":
            this.#options.emit(message.event);
            break;
          case "outcomes":
            outcomes.resolve(message.outcomes);
            break;
          case "failed":
            failed(message.problem, message.code);
            break;
        }
      },
      died: failed,
    });
    this.#hosts.set(spec.name, { child, outcomes: outcomes.promise });
    child.send({
      type: "prepare",
      origin: this.#options.clock.origin,
      spec,
      spacing,
    });
    return place.promise;
  }
}

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
interface ProxyPlace {
  readonly address: string;
  readonly port: number;
  /** Requests have to carry their number, for the proxy's log. */
  readonly namesRequests: boolean;
}
