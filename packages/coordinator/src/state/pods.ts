import type { SlimPod } from "@lameduck/cluster";

/** All pods of the cluster: by uid, by name, and by address. */
export class Pods {
  readonly #byUid = new Map<string, SlimPod>();
  /** By "NAMESPACE/NAME": the one that came last. */
  readonly #byName = new Map<string, SlimPod>();
  readonly #byAddress = new Map<string, SlimPod>();

  get size(): number {
    return this.#byUid.size;
  }

  get all(): Iterable<SlimPod> {
    return this.#byUid.values();
  }

  get(uid: string): SlimPod | undefined {
    return this.#byUid.get(uid);
  }

  named(namespace: string, name: string): SlimPod | undefined {
    return this.#byName.get(`${namespace}/${name}`);
  }

  /** The pod that has this address. Pods in the network of their node have none of their own. */
  at(address: string): SlimPod | undefined {
    return this.#byAddress.get(address);
  }

  nodeAt(address: string): string | undefined {
    return this.at(address)?.node;
  }

  put(pod: SlimPod): void {
    const { metadata, addresses, hostAddress, isFinished } = pod;
    this.#byUid.set(metadata.uid, pod);
    this.#byName.set(keyOf(pod), pod);
    if (isFinished) this.#forgetAddresses(pod);
    else if (hostAddress === undefined) for (const address of addresses) this.#byAddress.set(address, pod);
  }

  remove(pod: SlimPod): void {
    const { uid } = pod.metadata;
    this.#byUid.delete(uid);
    if (this.#byName.get(keyOf(pod))?.metadata.uid === uid) this.#byName.delete(keyOf(pod));
    this.#forgetAddresses(pod);
  }

  /** Addresses that another pod has by now stay that pod's. */
  #forgetAddresses({ metadata, addresses }: SlimPod): void {
    for (const address of addresses)
      if (this.#byAddress.get(address)?.metadata.uid === metadata.uid) this.#byAddress.delete(address);
  }
}

function keyOf({ metadata }: SlimPod): string {
  return `${metadata.namespace}/${metadata.name}`;
}
