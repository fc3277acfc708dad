import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { messageOf } from "@lameduck/drain/common";
import { catchInterrupt } from "../interrupt.ts";
import { say } from "../output.ts";
import type { RunNews } from "./known.ts";
import type { FromUi, ToUi } from "./ui-worker.ts";

/** Where a run tells what it sees. Resolves when it is on its way. */
export type TellUi = (news: RunNews) => Promise<void> | void;

/** The report page of a run, in a thread of its own: rendering it takes time that nothing of the run should wait for. */
export class Ui {
  readonly #worker: Worker;
  readonly #ended: Promise<unknown>;
  #url = "";
  #isFinal = false;

  private constructor() {
    // Beside this file, in the sources as in what is built of them.
    this.#worker = new Worker(new URL(`ui-worker${extname(import.meta.url)}`, import.meta.url));
    this.#ended = once(this.#worker, "exit").catch((error: unknown) => {
      this.#url = "";
      // What is measured does not need it.
      say(`the page of --ui has failed: ${messageOf(error)}`);
    });
  }

  /** Serves the page, and says where. */
  static async open(): Promise<Ui> {
    const ui = new Ui();
    const listening = once(ui.#worker, "message") as Promise<[FromUi]>;
    const [first] = await Promise.race([listening, ui.#ended.then(() => [undefined])]);
    if (first?.type === "listening") {
      ui.#url = first.url;
      say(`the report as it grows: ${ui.#url}`);
    }
    return ui;
  }

  readonly tell = (news: RunNews): void => {
    if (news.type === "final") this.#isFinal = true;
    this.#post(news);
  };

  /** Goes on serving the report of a run that came to its end, until a signal. */
  async stay(): Promise<void> {
    if (!this.#isFinal || this.#url === "") return;
    const interrupt = catchInterrupt();
    say(`the report stays at ${this.#url} until Ctrl-C`);
    const interrupted = once(interrupt.signal, "abort");
    await Promise.race([interrupted, this.#ended]);
    interrupt.release();
  }

  async close(): Promise<void> {
    this.#post({ type: "close" });
    await this.#ended;
  }

  #post(message: ToUi): void {
    this.#worker.postMessage(message);
  }
}
