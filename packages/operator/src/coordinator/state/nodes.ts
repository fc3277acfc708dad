import type { Change } from "@lameduck/kube";
import type { KeptNode } from "./objects.ts";

/** One node, as far as it sends to pods. */
export interface NodeSeat {
  readonly name: string;
  isReady: boolean;
  /** Since when it is not Ready; Infinity while it is. */
  notReadySince: number;
  isGone: boolean;
}

/** All nodes, in the order in which they came: those who walk along them can go on where they stood. */
export class Nodes {
  #seats: NodeSeat[] = [];
  readonly #byUid = new Map<string, NodeSeat>();
  readonly #byAddress = new Map<string, string>();
  readonly #addresses = new Map<string, readonly string[]>();
  #gone = 0;
  #version = 0;
  #readiness = 0;

  get seats(): readonly NodeSeat[] {
    return this.#seats;
  }

  /** Changes when positions among the seats do. */
  get version(): number {
    return this.#version;
  }

  /** Changes when a node comes, goes, or is Ready or not: not with its heartbeats. */
  get readiness(): number {
    return this.#readiness;
  }

  take({ type, object }: Change<KeptNode>, now: number): void {
    const { uid, name } = object.metadata;
    for (const address of this.#addresses.get(uid) ?? []) this.#byAddress.delete(address);
    const known = this.#byUid.get(uid);
    if (type === "gone") {
      this.#addresses.delete(uid);
      this.#byUid.delete(uid);
      this.#readiness++;
      if (known) this.#leave(known);
      return;
    }
    this.#addresses.set(uid, object.addresses);
    for (const address of object.addresses) this.#byAddress.set(address, name);
    const seat = known ?? { name, isReady: true, notReadySince: Infinity, isGone: false };
    if (!known || seat.isReady !== object.isReady) this.#readiness++;
    if (object.isReady) seat.notReadySince = Infinity;
    // One that was never Ready has never sent anything.
    else if (seat.isReady) seat.notReadySince = known ? now : -Infinity;
    seat.isReady = object.isReady;
    if (known) return;
    this.#byUid.set(uid, seat);
    this.#seats.push(seat);
  }

  /** The node that has this address itself. */
  at(address: string): string | undefined {
    return this.#byAddress.get(address);
  }

  #leave(seat: NodeSeat): void {
    seat.isGone = true;
    this.#gone++;
    if (this.#gone < 32 || this.#gone < this.#seats.length / 4) return;
    this.#seats = this.#seats.filter(({ isGone }) => !isGone);
    this.#gone = 0;
    this.#version++;
  }
}
