import type { SlimPod } from "@lameduck/cluster";

/** All pods of the cluster: by uid, and by address. */
export class Pods {
  readonly #byUid = new Map<string, SlimPod>();
  readonly #byAddress = new Map<string, SlimPod>();

  get all(): Iterable<SlimPod> {
    return this.#byUid.values();
  }

  get(uid: string): SlimPod | undefined {
    return this.#byUid.get(uid);
  }

  /** The pod that has this address. Pods in the network of their node have none of their own. */
  at(address: string): SlimPod | undefined {
    return this.#byAddress.get(address);
  }

  put(pod: SlimPod): void {
    const { metadata, addresses, hostAddress, isFinished } = pod;
    this.#byUid.set(metadata.uid, pod);
    if (isFinished) this.#forgetAddresses(pod);
    else if (hostAddress === undefined) for (const address of addresses) this.#byAddress.set(address, pod);
  }

  remove(pod: SlimPod): void {
    const { uid } = pod.metadata;
    this.#byUid.delete(uid);
    this.#forgetAddresses(pod);
  }

  /** Addresses that another pod has by now stay that pod's. */
  #forgetAddresses({ metadata, addresses }: SlimPod): void {
    for (const address of addresses)
      if (this.#byAddress.get(address)?.metadata.uid === metadata.uid) this.#byAddress.delete(address);
  }
}
