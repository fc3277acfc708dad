import { BlockList, isIP } from "node:net";
import type { Change } from "@lameduck/kube";
import type { SlimNode } from "@lameduck/cluster";

/** So long a node counts that only its own proxy has reported. By then a late watch has shown it, or it was deleted. */
const untilListedMs = 60_000;

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
  readonly #byName = new Map<string, SendingNode>();
  /** Nodes that no list or watch has shown yet. */
  readonly #reported = new Set<SendingNode>();
  readonly #byAddress = new Map<string, { readonly uid: string; readonly name: string }>();
  readonly #addresses = new Map<string, readonly string[]>();
  readonly #ranges = new Map<string, BlockList>();
  #gone = 0;
  #version = 0;
  #readiness = 0;

  get all(): readonly SendingNode[] {
    return this.#all;
  }

  /** Changes when a node gets another index in `all`. */
  get version(): number {
    return this.#version;
  }

  /** Changes when a node comes, goes, or changes its readiness; heartbeats do not change it. */
  get readiness(): number {
    return this.#readiness;
  }

  take({ type, object, live }: Change<SlimNode>, now: number): void {
    const { uid, name } = object.metadata;
    for (const address of this.#addresses.get(uid) ?? [])
      if (this.#byAddress.get(address)?.uid === uid) this.#byAddress.delete(address);
    const known = this.#byUid.get(uid);
    if (type === "gone") {
      this.#addresses.delete(uid);
      this.#ranges.delete(uid);
      this.#byUid.delete(uid);
      this.#readiness++;
      if (known) this.#markGone(known);
      return;
    }
    this.#addresses.set(uid, object.addresses);
    if (object.ranges !== undefined) this.#ranges.set(uid, blockOf(object.ranges));
    for (const address of object.addresses) this.#byAddress.set(address, { uid, name });
    const former = known ?? this.#claimReported(name);
    // Where only the object is new, the node was deleted and has registered again: it may have sent something.
    const mayHaveSent = former !== undefined || !live || this.#all.some((one) => one.name === name);
    const node = former ?? this.#add(name, Infinity);
    if (!known || node.isReady !== object.isReady) this.#readiness++;
    if (object.isReady) node.notReadySince = Infinity;
    // A node that was never Ready has never sent anything. One that a list shows may have been Ready a moment ago.
    else if (node.isReady) node.notReadySince = mayHaveSent ? now : -Infinity;
    node.isReady = object.isReady;
    this.#byUid.set(uid, node);
    this.#byName.set(name, node);
  }

  /** A proxy reports for this node. It may have joined while the watch of nodes is late, and it may send already. */
  reported(name: string, now: number): void {
    if (this.#byName.has(name)) return;
    this.#readiness++;
    const node = this.#add(name, now + untilListedMs);
    this.#byName.set(name, node);
    this.#reported.add(node);
  }

  /** The node in whose range of pods' addresses this one is: its own end of that network, where no pod has the address. */
  around(address: string): string | undefined {
    const family = isIP(address);
    if (family === 0) return undefined;
    for (const [uid, ranges] of this.#ranges)
      if (ranges.check(address, family === 4 ? "ipv4" : "ipv6"))
        return this.#all.find((node) => this.#byUid.get(uid) === node)?.name;
    return undefined;
  }

  named(name: string): SendingNode | undefined {
    return this.#byName.get(name);
  }

  /** The node that has this address itself. */
  at(address: string): string | undefined {
    return this.#byAddress.get(address)?.name;
  }

  #add(name: string, notReadySince: number): SendingNode {
    const node = { name, isReady: true, notReadySince, isGone: false };
    this.#all.push(node);
    return node;
  }

  /** The node of this name that only its proxy has reported. From now on it is like any other. */
  #claimReported(name: string): SendingNode | undefined {
    const node = this.#byName.get(name);
    return node && this.#reported.delete(node) ? node : undefined;
  }

  #markGone(node: SendingNode): void {
    node.isGone = true;
    if (this.#byName.get(node.name) === node) this.#byName.delete(node.name);
    this.#gone++;
    if (this.#gone < 32 || this.#gone < this.#all.length / 4) return;
    this.#all = this.#all.filter(({ isGone }) => !isGone);
    this.#gone = 0;
    this.#version++;
  }
}

function blockOf(ranges: readonly string[]): BlockList {
  const block = new BlockList();
  for (const range of ranges) {
    const [address = "", bits = ""] = range.split("/");
    if (isIP(address) !== 0) block.addSubnet(address, Number(bits), isIP(address) === 4 ? "ipv4" : "ipv6");
  }
  return block;
}
