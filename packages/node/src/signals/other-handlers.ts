import { constants } from "node:os";
import type { Server as NetServer } from "node:net";
import { sleep, untilSettled, type Clock } from "../clock.ts";
import { unrefConnections } from "../internals.ts";
import { signalGate } from "./signals.ts";
import { isTestRun } from "./test-run.ts";

/** A program that has closed one of its servers has this time to close the others in its own order. */
const theirTurnMs = 1_000;
/** Requests in flight have this time where somebody sends a second signal: as long as `docker stop` waits. */
const patienceMs = 10_000;
const pollPeriodMs = 10;
/** The kernel keeps a signal without a handler from process 1. */
const longestDeathMs = 100;

/**
 * The program's own shutdown: what its handlers of the signal, or a main flow that waits for it, do once the hold is over. Nobody can tell when that is done
 * but the program: it exits, lets the signal end it, or has nothing left to do, so that its event loop is empty.
 */
export class OtherHandlers {
  readonly #clock: Clock;
  readonly #say: (message: string) => void;
  #waits = false;
  /** When they got the signal. */
  #begun = -Infinity;

  constructor(clock: Clock, say: (message: string) => void) {
    this.#clock = clock;
    this.#say = say;
  }

  /** Whether the program has such a shutdown. */
  get exist(): boolean {
    return signalGate().concernsOthers;
  }

  /** The exit code, where they have asked for the end of the process. */
  get exitCode(): number | undefined {
    const { exit, fatal, isLetGo } = signalGate();
    if (exit.code !== undefined) return exit.code;
    if (fatal) return 128 + constants.signals[fatal];
    return isLetGo ? Number(process.exitCode ?? 0) : undefined;
  }

  /** An error that nobody catches ends a program. Without its end an interval or a pool would keep the process for ever. */
  crashed(): void {
    const { exit, passed } = signalGate();
    if (passed !== undefined) exit.ask(1);
  }

  /** Until when requests may last. Outside a pod it is less once the program has asked for its end. */
  limit(latest: number, isPod: boolean): () => number {
    let asked: number | undefined;
    return () => {
      if (this.exitCode === undefined || isPod) return Math.max(latest, this.#begun + theirTurnMs);
      const { exit, isRaised } = signalGate();
      asked ??= this.#clock.now() + (exit.code !== undefined || isRaised ? theirTurnMs : patienceMs);
      return Math.min(latest, asked);
    };
  }

  /** Holds of workers end a moment after that of their primary. @param latest when they get the signal all the same. */
  async areDue(latest: number): Promise<void> {
    const { ahead } = signalGate();
    const wait = Math.min(theirTurnMs, latest - this.#clock.now());
    if (ahead.size > 0) await untilSettled(Promise.all(ahead), Math.max(0, wait));
  }

  /** Gives them the signal. @param hooksFollow they cannot end the process before end(). */
  pass(hooksFollow: boolean): void {
    this.#waits = hooksFollow;
    if (hooksFollow) signalGate().exit.wait();
    this.#begun = this.#clock.now();
    signalGate().release();
  }

  /**
   * The program may wait before it closes its servers, and serves meanwhile. Resolves when it has closed them, when it has nothing left to do, at the
   * latest at `until`.
   */
  async closeThemselves(servers: readonly NetServer[], isBusy: () => boolean, until: number): Promise<void> {
    const open = (): number => servers.filter(({ listening }) => listening).length;
    const before = open();
    for (const server of servers) server.unref();
    let latest = until;
    while (open() > 0 && this.#clock.now() < latest && this.exitCode === undefined) {
      if (open() < before) latest = Math.min(latest, this.#clock.now() + theirTurnMs);
      unrefConnections(servers);
      if (await isLoopEmpty(isBusy())) return;
    }
  }

  /** Our hooks have run, or never will: the program may exit. Another lameduck() may still wait. */
  letExit(): void {
    if (this.#waits) signalGate().exit.end();
    this.#waits = false;
  }

  /**
   * All that is ours is done: the process ends as the program has asked for, or else when the program has nothing left to do.
   * @param exitCode null where the program ends it.
   * @param until when it must have ended; undefined where nobody will kill it.
   */
  end(exitCode: number | null, until: number | undefined): void {
    const { exit, fatal, passed: name } = signalGate();
    if (fatal && exit.code === undefined) return die(fatal);
    if (exitCode !== null) return exitWith(exitCode);
    if (until === undefined) return;
    const giveUp = (): void => {
      this.#say(`no more time for what the program does after ${name}: ${whatKeepsAlive()}`);
      process.exit();
    };
    setTimeout(giveUp, Math.max(0, until - this.#clock.now())).unref();
  }
}

/** A test runner takes 0 for success, whatever it had still to run. */
function exitWith(exitCode: number): void {
  process.exit(exitCode === 0 && isTestRun() ? 1 : exitCode);
}

/** By the signal's own action, which the exit status tells. */
export function die(name: NodeJS.Signals): void {
  process.kill(process.pid, name);
  setTimeout(() => process.exit(128 + constants.signals[name]), longestDeathMs);
}

/** Waits a moment. @param isBusy there is work of ours, so that the loop counts as not empty. */
async function isLoopEmpty(isBusy: boolean): Promise<boolean> {
  if (isBusy) {
    await sleep(pollPeriodMs);
    return false;
  }
  return new Promise((resolve) => {
    const end = (isEmpty: boolean): void => {
      clearTimeout(timer);
      signalGate().whenEmpty(undefined);
      resolve(isEmpty);
    };
    const timer = setTimeout(end, pollPeriodMs, false).unref();
    signalGate().whenEmpty(() => end(true));
  });
}

/** What the event loop waits for, but for standard input and output. */
function whatKeepsAlive(): string {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo())
    if (!/^(PipeWrap|TTYWrap)$/.test(type)) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].map(([type, count]) => `${count} ${type}`).join(", ") || "nothing that Node tells of";
}
