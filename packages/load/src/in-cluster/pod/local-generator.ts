import { Generator } from "../../generator/generator.ts";
import { type LoadOptions, parseLoad } from "../../plan.ts";
import type { FromGenerator, Progress } from "../../generator/protocol.ts";
import type { Trial } from "../../generator/trials.ts";
import type { Tried } from "../../worked.ts";
import { routePlan, senderOf } from "../../routes/plan.ts";
import type { OpenRoute } from "../../routes/route.ts";
import type { Numbered } from "../transport/pack.ts";
import { RecordTable } from "../../generator/records.ts";
import type { Finished } from "../../protocols/exchange.ts";

/** The load of one route in this process. */
export class LocalGenerator {
  progress: Progress = { due: 0, finished: 0, lost: 0, notSent: 0, inFlight: 0 };
  #trials: readonly Trial[] = [];
  readonly #route: string;
  readonly #records = new RecordStream();
  readonly #generator: Generator;
  readonly #done = Promise.withResolvers<void>();

  constructor(options: { route: OpenRoute; load: LoadOptions; seed: number; origin: string }) {
    const { route, load, seed, origin } = options;
    this.#route = route.name;
    this.#generator = new Generator((message) => this.#received(message), this.#records);
    this.#generator.receive({
      type: "prepare",
      origin,
      seed,
      plan: parseLoad(routePlan(load, route)),
      senders: [senderOf(route)],
    });
  }

  get trials(): Tried[] {
    return this.#trials.map((trial) => ({ ...trial, sender: this.#route }));
  }

  begin(): void {
    this.#generator.receive({ type: "begin" });
  }

  /** Resolves when every request has ended. */
  stop(): Promise<void> {
    this.#generator.receive({ type: "stop" });
    return this.#done.promise;
  }

  /** Records of requests that ended since the last call. */
  take(): Numbered[] {
    return this.#records.take();
  }

  #received(message: FromGenerator): void {
    if (message.type === "progress" || message.type === "done") {
      this.progress = message.progress;
      this.#trials = message.trials;
    }
    if (message.type === "done") this.#done.resolve();
  }
}

/** Keeps records only until they have been sent away. */
class RecordStream extends RecordTable {
  #ended: Numbered[] = [];
  #begun = 0;

  override begin(): number {
    return this.#begun++;
  }

  override write(row: number, record: Finished): void {
    this.#ended.push({ row, record });
  }

  /** Requests that ended since the last call. */
  take(): Numbered[] {
    const taken = this.#ended;
    this.#ended = [];
    return taken;
  }
}
