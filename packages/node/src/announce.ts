import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import type { NoticeEvent, PhaseEvent } from "./events.ts";
import type { Log } from "./log.ts";

export interface LameduckEvents {
  phase: [PhaseEvent];
  "lame-duck": [PhaseEvent];
  closing: [PhaseEvent];
  closed: [PhaseEvent];
  notice: [NoticeEvent];
}

/** Everything said goes three ways: to the log, to whoever listens, and to the diagnostics channels of the same names. */
export class Announcer extends EventEmitter<LameduckEvents> {
  readonly #log: Log;
  readonly #phases = channel("lameduck.phase");
  readonly #notices = channel("lameduck.notice");

  constructor(log: Log) {
    super();
    this.#log = log;
  }

  phase(event: PhaseEvent): void {
    this.#log(event);
    this.#phases.publish(event);
    this.#guarded(() => this.emit("phase", event));
    this.#guarded(() => this.emit(event.phase, event));
  }

  notice(notice: string, message: string): void {
    const event: NoticeEvent = { lameduck: "notice", at: Date.now(), pid: process.pid, notice, message };
    this.#log(event);
    this.#notices.publish(event);
    this.#guarded(() => this.emit("notice", event));
  }

  /** A listener that throws must not stop the shutdown. */
  #guarded(emit: () => void): void {
    try {
      emit();
    } catch (error) {
      if (!(error instanceof Error)) return;
      this.#log({
        lameduck: "notice",
        at: Date.now(),
        pid: process.pid,
        notice: "listener",
        message: error.message,
      });
    }
  }
}
