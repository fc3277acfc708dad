import { LoadError, Learner, EndpointView, reportChoice, serveParent } from "@lameduck/load/proxies";
import type { LoadErrorCode, BareSenderEvent, EndpointState, ProxySpec } from "@lameduck/load";
import { runClock } from "@lameduck/accounting/recording";
import type { SenderEvent } from "@lameduck/accounting";
import { startHaproxy } from "./haproxy.ts";
import { startL7 } from "./l7.ts";
import { startNginx } from "./nginx.ts";
import type { FromHost, ToHost } from "./hosts.ts";
import type { Proxy, ProxyContext } from "./proxy.ts";
import { messageOf } from "@lameduck/drain/common";

/** Cares for one proxy: starts it, brings it the news when their time has come, and ends it. */
class ProxyHost {
  readonly #send: (message: FromHost) => void;
  readonly #view = new EndpointView("ready");
  #learner: Learner | undefined;
  #starting: Promise<Proxy> | undefined;
  #emit: (event: BareSenderEvent) => void = () => undefined;

  constructor(send: (message: FromHost) => void) {
    this.#send = send;
  }

  receive(message: ToHost): void {
    switch (message.type) {
      case "prepare":
        void this.#guard(() => this.#prepare(message));
        break;
      case "change":
        this.#learner?.learn(message.change);
        break;
      case "finish":
        void this.#guard(async () => {
          const proxy = await this.#starting;
          this.#send({ type: "outcomes", outcomes: (await proxy?.outcomes()) ?? [] });
        });
        break;
    }
  }

  async close(): Promise<void> {
    this.#learner?.stop();
    const proxy = await this.#starting?.catch(() => undefined);
    await proxy?.close();
  }

  async #prepare({ origin, spec, spacing }: ToHost & { type: "prepare" }): Promise<void> {
    const clock = runClock(BigInt(origin));
    this.#emit = (bare) =>
      this.#send({
        type: "event",
        event: { ...bare, at: clock.now(), sender: spec.name } satisfies SenderEvent,
      });
    this.#learner = new Learner({
      now: () => clock.now(),
      spacing,
      apply: (states) => this.#guard(() => this.#apply(states)),
    });
    this.#starting = start(spec, {
      now: () => clock.now(),
      emit: this.#emit,
      died: (problem) => this.#fail("LAMEDUCK_SENDER_FAILED", problem),
    });
    const { address, port, namesRequests } = await this.#starting;
    this.#send({ type: "listening", place: { address, port, namesRequests } });
  }

  async #apply(states: readonly EndpointState[]): Promise<void> {
    const proxy = await this.#starting;
    const before = this.#view.chosen;
    const { added, left } = this.#view.apply(states);
    if (!proxy || added.length + left.length === 0) return;
    await proxy.use(this.#view.chosen);
    reportChoice(before, this.#view.chosen, this.#emit);
  }

  async #guard(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const code = error instanceof LoadError ? error.code : "LAMEDUCK_SENDER_FAILED";
      this.#fail(code, messageOf(error));
    }
  }

  #fail(code: LoadErrorCode, problem: string): void {
    this.#send({ type: "failed", code, problem });
  }
}

function start(spec: ProxySpec, context: ProxyContext): Promise<Proxy> {
  switch (spec.kind) {
    case "l7":
      return startL7(spec, context);
    case "haproxy":
      return startHaproxy(spec, context);
    case "nginx":
      return startNginx(spec, context);
  }
}

serveParent<ToHost>((send: (message: FromHost) => void) => new ProxyHost(send));
