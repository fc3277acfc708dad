import { extname } from "node:path";
import { LoadError, type Change, Child, type ProxySpec } from "@lameduck/load";
import type { RunClock, SenderEvent } from "@lameduck/accounting";
import type { ProxyOutcome } from "./proxy-outcome.ts";
import type { FromHost, ToHost, ProxyPlace } from "./protocol.ts";

interface Host {
  readonly child: Child<ToHost, FromHost>;
  readonly place: PromiseWithResolvers<ProxyPlace>;
  readonly outcomes: PromiseWithResolvers<readonly ProxyOutcome[]>;
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

  async start(
    proxies: readonly { readonly spec: ProxySpec; readonly spacing: number }[],
  ): Promise<ReadonlyMap<string, ProxyPlace>> {
    for (const { spec, spacing } of proxies) this.#start(spec, spacing);
    const places = await Promise.all(
      [...this.#hosts].map(async ([name, host]) => [name, await host.place.promise] as const),
    );
    return new Map(places);
  }

  learn(change: Change): void {
    this.#hosts.get(change.sender)?.child.send({ type: "change", change });
  }

  /** What the proxies' logs know of requests that went wrong, by the requests' numbers. */
  async outcomes(): Promise<ReadonlyMap<number, ProxyOutcome>> {
    const all = await Promise.all(
      [...this.#hosts.values()].map((host) => {
        host.child.send({ type: "finish" });
        return host.outcomes.promise;
      }),
    );
    return new Map(all.flat().map((outcome) => [outcome.id, outcome]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#hosts.values()].map((host) => host.child.close()));
  }

  #start(spec: ProxySpec, spacing: number): void {
    const place = Promise.withResolvers<ProxyPlace>();
    const outcomes = Promise.withResolvers<readonly ProxyOutcome[]>();
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
            this.#options.failed(new LoadError(message.code, `sender ${spec.name}`, message.problem));
            break;
        }
      },
      died: (how) =>
        this.#options.failed(new LoadError("LAMEDUCK_SENDER_FAILED", `sender ${spec.name}`, how)),
    });
    this.#hosts.set(spec.name, { child, place, outcomes });
    child.send({
      type: "prepare",
      origin: this.#options.clock.origin,
      spec: { ...spec, propagation: undefined } as never,
      spacing,
    });
  }
}
