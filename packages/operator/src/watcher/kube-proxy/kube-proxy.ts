import { isIPv6 } from "node:net";
import { unreadable, type Consumer } from "../consumers/consumer.ts";

export type AddressFamily = "ip" | "ip6";

/** Addresses in the rules of one mode of kube-proxy. */
export interface FoundRules {
  readonly used: ReadonlySet<string>;
  /** These rules are those of IPVS mode, and say nothing of endpoints. */
  readonly isForIpvs?: boolean;
  /** kube-proxy has its chains here, and no Service. */
  readonly isEmpty?: boolean;
}

/** The mode whose virtual servers no other place shows. */
export const ipvsMode = "ipvs";

/** Of one family of addresses, where all Services are of the other. */
export const emptyRules: FoundRules = { used: new Set(), isEmpty: true };

/** One place where kube-proxy may have its rules. */
export interface KubeProxyRules {
  readonly mode: string;
  /** @returns none where kube-proxy has no rules in this place. @throws where that cannot be known. */
  used(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<FoundRules | undefined>;
  /** Those of which that is certain without a look at all rules. */
  surelyUsed?(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>>;
}

/**
 * The node's kube-proxy, by the rules themselves. An address is used where any of the places says so: what an earlier mode left behind can
 * delay a release, and never bring it forward.
 */
export class KubeProxy implements Consumer {
  readonly kind = "kube-proxy";
  readonly basis = "rules";
  readonly #places: readonly KubeProxyRules[];

  constructor(places: readonly KubeProxyRules[]) {
    this.#places = places;
  }

  async stillUsed(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const six = addresses.filter((address) => isIPv6(address));
    const four = addresses.filter((address) => !isIPv6(address));
    const used = new Set<string>();
    if (four.length > 0 || six.length === 0)
      for (const address of await this.#used("ip", four, signal)) used.add(address);
    if (six.length > 0) for (const address of await this.#used("ip6", six, signal)) used.add(address);
    return used;
  }

  async #used(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const found = await this.#look(family, addresses, signal);
    const looked = `${this.#places.map(({ mode }) => mode).join(", ")}; family ${family}`;
    // Chains that an earlier mode left behind do not stand for virtual servers that cannot be seen.
    if (found.needsIpvs && !found.hasIpvs)
      throw unreadable(
        "kube-proxy",
        `it is in IPVS mode, and its virtual servers cannot be seen (looked at ${looked})`,
      );
    if (found.hasRules) return found.used;
    // In clusters of two families all Services may be of one: that its rules are seen tells that the others would be.
    const other = family === "ip" ? "ip6" : "ip";
    if ((await this.#look(other, [], signal)).hasRules) return found.used;
    throw unreadable("kube-proxy", `it has no rules here, or no Service in them (looked at ${looked})`);
  }

  async #look(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<{ used: Set<string>; hasRules: boolean; needsIpvs: boolean; hasIpvs: boolean }> {
    const all = { used: new Set<string>(), hasRules: false, needsIpvs: false, hasIpvs: false };
    for (const place of this.#places) {
      const found = await place.used(family, addresses, signal);
      if (found === undefined || found.isEmpty === true) continue;
      if (found.isForIpvs === true) all.needsIpvs = true;
      else all.hasRules = true;
      if (place.mode === ipvsMode) all.hasIpvs = true;
      for (const address of found.used) all.used.add(address);
    }
    return all;
  }
}
