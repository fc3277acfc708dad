import { nextTurn, sleep, type Clock } from "../clock.ts";
import { closeBeneath } from "../internals.ts";
import type { Servers } from "../servers/servers.ts";
import { emptyQueue, fillQueues, ownListeners } from "./accept-queue.ts";

/** How often the progress of closing is looked at. */
const pollPeriodMs = 10;
/** How long ended connections have to say goodbye before they are cut. Two round trips of a slow client. */
const goodbyeTimeoutMs = 250;
/** WebSockets and event streams are ended over at most this time, one a millisecond, so that clients do not all reconnect at once. */
const longestSpreadMs = 5_000;
const shortestGapMs = 1;
/** The same where they have a time of their own: one a second at least, since so few reconnects harm nobody. */
const longestGapMs = 1_000;
/** A WebSocket whose turn has come then waits so long for an answer that it may follow. */
const momentMs = 10_000;
/** The longest that ending a stream takes: the rest of an event that is half written, and a goodbye. */
const lastMomentMs = 1_250;
/** An event stream that might end by itself gets this long at most, before it is ended in order like those without an end. */
const longPatienceMs = 4_000;
/** A WebSocket client has this long to answer the close frame: several round trips of a slow client, and of one that is near. */
const longAnswerMs = 1_000;
const shortAnswerMs = 500;
/** The same for a doubtful stream where nobody expects the process to last after the signal. There a stream with an end may be silent for as long. */
const shortPatienceMs = 500;

/** Lets what is in flight finish and ends connections, each as late and as gently as the time allows. */
export class Closing {
  readonly #servers: Servers;
  readonly #clock: Clock;
  #lastingUntil: number | undefined;

  constructor(servers: Servers, clock: Clock) {
    this.#servers = servers;
    this.#clock = clock;
  }

  /** @param isTheirs the program closes its servers, too, and must find them as they were. */
  async stopListening(isTheirs: boolean): Promise<void> {
    const { listeners } = this.#servers;
    const own = ownListeners(listeners);
    await emptyQueue(own, () => this.#servers.accepted);
    // Not `using`, which Node 22 does not know where these sources run as they are.
    const calls = await fillQueues(own);
    try {
      if (isTheirs) for (const server of listeners) if (server.listening) closeBeneath(server);
      this.#servers.stopListening();
    } finally {
      calls[Symbol.dispose]();
    }
  }

  /** From now on lasting connections end at an even rate, while the server serves on. Calling it again changes nothing. @param spread milliseconds. */
  beginLasting(spread: number): void {
    if (this.#lastingUntil !== undefined) return;
    this.#lastingUntil = this.#clock.now() + spread;
    const moment = Math.min(momentMs, spread / 4);
    const all = spread - moment;
    const doubtful = Math.min(longPatienceMs, all / 2);
    const patience = { moment, doubtful, silence: undefined, answer: longAnswerMs };
    this.#servers.endStreams({ spread: all, all, gap: longestGapMs, ...patience });
  }

  /** Resolves when all of them have ended, at the latest when their time is over. */
  async endLasting(): Promise<void> {
    await this.#until(
      () => this.#servers.lasting === 0,
      () => this.#lastingUntil ?? 0,
    );
  }

  /**
   * Event streams end only when they are closed. They are closed after the application's own hooks. Then what is in flight ends. Idle
   * connections are closed last, because each may still get a request.
   */
  async drain(
    quiet: number,
    busy: () => boolean,
    goodbyes: Promise<void>,
    until: () => number,
    { holds, isHandled } = { holds: true, isHandled: false },
  ): Promise<void> {
    let streamsEnding = false;
    const ending = goodbyes.then(() => {
      const left = Math.max(0, until() - this.#clock.now());
      const spread = Math.min(longestSpreadMs, left / 2);
      const doubtful = Math.min(
        // Handlers that close servers would wait for such a stream; without any the process would be gone by now.
        holds || isHandled ? longPatienceMs : shortPatienceMs,
        Math.max(0, left - spread - lastMomentMs),
      );
      const answer = holds ? longAnswerMs : shortAnswerMs;
      const silence = holds || isHandled ? undefined : shortPatienceMs;
      const all = spread + doubtful;
      this.#servers.endStreams({ spread, all, gap: shortestGapMs, moment: 0, doubtful, silence, answer });
      streamsEnding = true;
    });
    await this.#until(() => streamsEnding && !busy() && this.#servers.restless(quiet) === 0, until);
    this.#servers.endIdle();
    const latest = Math.min(until(), this.#clock.now() + goodbyeTimeoutMs);
    await this.#until(
      () => this.#servers.open === 0,
      () => latest,
    );
    await ending;
  }

  async untilIdle(isBusy: () => boolean, until: number): Promise<void> {
    await this.#until(
      () => !isBusy(),
      () => until,
    );
  }

  async #until(done: () => boolean, until: () => number): Promise<void> {
    for (;;) {
      this.#servers.tick();
      const left = until() - this.#clock.now();
      if (done() || left <= 0) return;
      await sleep(Math.min(pollPeriodMs, left));
      // A timer runs before the sockets are read. A request that came meanwhile must be seen before its connection is called idle.
      await nextTurn();
    }
  }
}
