import { random, runClock } from "@lameduck/accounting/recording";
import type { SenderEvent } from "@lameduck/accounting";
import { ClientSender } from "../senders/client.ts";
import { HealthCheckedSender } from "../senders/health-checked.ts";
import { L4Sender } from "../senders/l4.ts";
import { ProxyCaller } from "../senders/proxy-caller.ts";
import { Dialer } from "../protocols/dialer.ts";
import { LoadEngine } from "./engine.ts";
import { protocolTraits } from "../protocols.ts";
import type { FromGenerator, GeneratorSender, ToGenerator } from "./protocol.ts";
import { RecordTable } from "./records.ts";
import type { LoadSender, SenderContext } from "../senders/sender.ts";

/** How often the live counts are reported. */
const progressPeriodMs = 200;
/** How often records are reported: a generator that dies loses only the records of this time. */
const recordsPeriodMs = 2_000;

/** The load generator as messages in and out: the senders that only decide, and the engine that fires requests through them. */
export class Generator {
  readonly #send: (message: FromGenerator) => void;
  readonly #senders = new Map<string, LoadSender>();
  readonly #table: RecordTable;
  #engine: LoadEngine | undefined;
  #progress: NodeJS.Timeout | undefined;
  #records: NodeJS.Timeout | undefined;

  /** `table` where records are to go elsewhere as soon as they are written. */
  constructor(send: (message: FromGenerator) => void, table = new RecordTable()) {
    this.#send = send;
    this.#table = table;
  }

  receive(message: ToGenerator): void {
    switch (message.type) {
      case "prepare":
        this.#prepare(message);
        this.#send({ type: "ready" });
        break;
      case "change":
        this.#senders.get(message.change.sender)?.learn(message.change);
        break;
      case "begin":
        this.#begin();
        break;
      case "stop":
        void this.#stop(message.abandon);
        break;
    }
  }

  #prepare({ origin, seed, plan, senders }: ToGenerator & { type: "prepare" }): void {
    const clock = runClock(BigInt(origin));
    // performance.now() counts the same monotonic clock and costs a tenth of a BigInt.
    const offset = clock.now() - performance.now();
    const now = (): number => performance.now() + offset;
    const dialer = new Dialer(now, plan);
    const { shared, http1 } = protocolTraits[plan.protocol];
    for (const [index, sender] of senders.entries()) {
      const local = "spec" in sender ? sender.spec.address : undefined;
      const context: SenderContext = {
        now,
        random: random(seed, "choice", sender.name),
        dial: dialer.from({
          localAddress: local,
          named: "proxy" in sender && sender.proxy.namesRequests,
          sessionEnded: (end) => this.#engine?.note(index, end),
        }),
        shared,
        speaksHttp1: http1,
        emit: (bare) =>
          this.#send({
            type: "event",
            event: { ...bare, at: now(), sender: sender.name } satisfies SenderEvent,
          }),
        spacing: sender.spacing,
      };
      this.#senders.set(sender.name, build(sender, context));
    }
    this.#engine = new LoadEngine({
      plan,
      senders: [...this.#senders.values()],
      table: this.#table,
      seed,
      now,
    });
  }

  #begin(): void {
    const engine = this.#engine;
    if (!engine) return;
    this.#send({ type: "begun", at: engine.begin() });
    this.#progress = setInterval(
      () => this.#send({ type: "progress", ...counted(engine) }),
      progressPeriodMs,
    );
    this.#records = setInterval(() => this.#tellRecords(), recordsPeriodMs);
  }

  #tellRecords(): void {
    for (const news of this.#table.news()) this.#send({ type: "records", ...news });
  }

  async #stop(abandon?: boolean): Promise<void> {
    const engine = this.#engine;
    if (!engine) return;
    await engine.stop(abandon);
    clearInterval(this.#progress);
    clearInterval(this.#records);
    for (const sender of this.#senders.values()) sender.stop();
    this.#tellRecords();
    this.#send({ type: "done", ...counted(engine) });
  }
}

function counted(engine: LoadEngine) {
  return { progress: engine.progress, trials: engine.trials, byPod: engine.takeByPod() };
}

function build(sender: GeneratorSender, context: SenderContext): LoadSender {
  if ("proxy" in sender) return new ProxyCaller(context, sender.proxy);
  switch (sender.spec.kind) {
    case "l4":
      return new L4Sender(context, { cuts: false });
    case "l4-cut":
      return new L4Sender(context, { cuts: true });
    case "client":
      return new ClientSender(context);
    case "health-checked":
      return new HealthCheckedSender(context, sender.spec);
  }
}
