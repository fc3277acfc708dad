import { channel } from "node:diagnostics_channel";
import { EventEmitter } from "node:events";
import { unknownName } from "@lameduck/drain";
import { messageOf, shown } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import type { LameduckEvents, NoticeEvent, PhaseEvent } from "../events.ts";
import type { Log } from "./log.ts";

const events = ["phase", "lame-duck", "closing", "closed", "notice"] as const;

function isEvent(name: unknown): name is keyof LameduckEvents {
  return (events as readonly unknown[]).includes(name);
}

/** Each event goes to the log, to listeners, and to the diagnostics channel of its name. */
export class Announcer extends EventEmitter<LameduckEvents> {
  readonly #log: Log;
  readonly #phases = channel("lameduck.phase");
  readonly #notices = channel("lameduck.notice");

  constructor(log: Log) {
    super();
    // As many as the application likes.
    this.setMaxListeners(0);
    this.#log = log;
  }

  /** @throws {LameduckError} for an event that never comes, or what is no function. */
  listen(name: unknown, listener: unknown): void {
    if (!isEvent(name))
      throw badOption("on", `${shown(name)} is ${unknownName("event", String(name), events)}`);
    if (typeof listener !== "function") throw badOption(`on ${name}`, `${shown(listener)} is not a function`);
    (this as { on(event: string, listener: unknown): unknown }).on(name, listener);
  }

  /** @returns when the promises that listeners returned have settled. */
  async phase(event: PhaseEvent): Promise<void> {
    this.#log(event);
    this.#phases.publish(event);
    await Promise.all([...this.#emit("phase", event), ...this.#emit(event.phase, event)]);
  }

  notice(notice: string, message: string): void {
    const event = this.#write(notice, message);
    this.#notices.publish(event);
    void Promise.all(this.#emit("notice", event));
  }

  /** As notice(), but once in a process, however many servers and copies of this package it holds. */
  warn(notice: string, message: string): void {
    if (isNewWarning(message)) this.notice(notice, message);
  }

  /** A listener that fails must stop neither the others nor the shutdown. */
  #emit(name: keyof LameduckEvents, event: PhaseEvent | NoticeEvent): Promise<void>[] {
    return this.rawListeners(name).map(async (listener) => {
      try {
        await Reflect.apply(listener, this, [event]);
      } catch (error) {
        this.#write("listener", messageOf(error));
      }
    });
  }

  #write(notice: string, message: string): NoticeEvent {
    const event: NoticeEvent = { lameduck: "notice", at: Date.now(), pid: process.pid, notice, message };
    this.#log(event);
    return event;
  }
}

/** Shared by all copies of this package in the process, hence a registered symbol with the version of the interface in it. */
const place = Symbol.for("@lameduck/node:warned:1");

/** Whether the process has not been warned this yet. */
function isNewWarning(warning: string): boolean {
  const holder = process as unknown as Record<symbol, Set<string> | undefined>;
  const warned = (holder[place] ??= new Set());
  if (warned.has(warning)) return false;
  warned.add(warning);
  return true;
}
