import type { Socket } from "node:net";

/**
 * Asking the kernel for a peer's address is nine tenths of what the watch costs per connection (5 of 70 us, measured). Above this
 * many new connections a second only so many are asked.
 */
const askedPerSecond = 500;

/**
 * Who is at the other end. Where connections are too many to ask each one, the rest is spread over those asked in the same
 * second, so that the rates come out right on average; from the hold on every one is asked.
 */
export class Senders {
  readonly #now: () => number;
  readonly #asked: string[] = [];
  #second = -Infinity;
  #next = 0;
  #askAll = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  askAll(): void {
    this.#askAll = true;
    this.#asked.length = 0;
  }

  of(socket: Socket): string {
    if (this.#askAll) return senderOf(socket.remoteAddress);
    const known = this.standIn();
    if (known !== undefined) return known;
    const sender = senderOf(socket.remoteAddress);
    this.#asked.push(sender);
    return sender;
  }

  /** The sender to be named for a connection that is one too many to be looked at; undefined as long as it is not. */
  standIn(): string | undefined {
    if (this.#askAll) return undefined;
    const now = this.#now();
    if (now >= this.#second + 1_000) {
      this.#second = now;
      this.#next = 0;
      this.#asked.length = 0;
    }
    return this.#asked.length < askedPerSecond ? undefined : this.#asked[this.#next++ % askedPerSecond];
  }
}

/** Peers are told apart by address; Unix sockets have none. */
export function senderOf(address: string | undefined): string {
  if (address === undefined) return "unix";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
