import { isIPv6 } from "node:net";
import { unreadable, type Consumer } from "../consumers/consumer.ts";

export type AddressFamily = "ip" | "ip6";

/** Addresses in the rules of one mode of kube-proxy. */
export interface FoundRules {
  readonly used: ReadonlySet<string>;
  /** These rules are those of IPVS mode, and say nothing of endpoints. */
  readonly isForIpvs?: boolean;
}

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
  ): Promise<Set<string>> {
    const used = new Set<string>();
    let hasRules = false;
    let needsIpvs = false;
    for (const place of this.#places) {
      const found = await place.used(family, addresses, signal);
      if (found === undefined) continue;
      if (found.isForIpvs === true) needsIpvs = true;
      else hasRules = true;
      for (const address of found.used) used.add(address);
    }
    if (hasRules) return used;
    const looked = `${this.#places.map(({ mode }) => mode).join(", ")}; family ${family}`;
    throw unreadable(
      "kube-proxy",
      needsIpvs
        ? `it is in IPVS mode, and its virtual servers cannot be seen (looked at ${looked})`
        : `it has no rules here (looked at ${looked})`,
    );
  }
}
