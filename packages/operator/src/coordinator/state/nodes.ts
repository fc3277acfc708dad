import type { Change } from "@lameduck/kube";
import type { KeptNode } from "./objects.ts";

/** A node, as one that sends to pods. */
export interface SendingNode {
  readonly name: string;
  isReady: boolean;
  /** Since when it is not Ready; Infinity while it is. */
  notReadySince: number;
  isGone: boolean;
}

/** All nodes in the order of their creation, so that a search along them can go on at its last index. */
export class Nodes {
  #all: SendingNode[] = [];
  readonly #byUid = new Map<string, SendingNode>();
  readonly #byAddress = new Map<string, string>();
  readonly #addresses = new Map<string, readonly string[]>();
  #gone = 0;
  #version = 0;
  #readiness = 0;

  get all(): readonly SendingNode[] {
    return this.#all;
  }

  /** Changes when indices do. */
  get version(): number {
    return this.#version;
  }

  /** Changes when a node comes, goes, or changes its readiness; heartbeats do not change it. */
  get readiness(): number {
    return this.#readiness;
  }

  take({ type, object, live }: Change<KeptNode>, now: number): void {
    const { uid, name } = object.metadata;
    for (const address of this.#addresses.get(uid) ?? []) this.#byAddress.delete(address);
    const known = this.#byUid.get(uid);
    if (type === "gone") {
      this.#addresses.delete(uid);
      this.#byUid.delete(uid);
      this.#readiness++;
      if (known) this.#markGone(known);
      return;
    }
    this.#addresses.set(uid, object.addresses);
    for (const address of object.addresses) this.#byAddress.set(address, name);
    const node = known ?? { name, isReady: true, notReadySince: Infinity, isGone: false };
    if (!known || node.isReady !== object.isReady) this.#readiness++;
    if (object.isReady) node.notReadySince = Infinity;
    // A node that was never Ready has never sent anything. One that a list shows may have been Ready a moment ago.
    else if (node.isReady) node.notReadySince = known || !live ? now : -Infinity;
    node.isReady = object.isReady;
    if (known) return;
    this.#byUid.set(uid, node);
    this.#all.push(node);
  }

  /** The node that has this address itself. */
  at(address: string): string | undefined {
    return this.#byAddress.get(address);
  }

  #markGone(node: SendingNode): void {
    node.isGone = true;
    this.#gone++;
    if (this.#gone < 32 || this.#gone < this.#all.length / 4) return;
    this.#all = this.#all.filter(({ isGone }) => !isGone);
    this.#gone = 0;
    this.#version++;
  }
}
