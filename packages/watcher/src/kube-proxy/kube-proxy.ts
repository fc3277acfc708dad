import { isIPv6 } from "node:net";
import { kubeProxy as facts } from "@lameduck/senders";
import { unreadable, type Consumer } from "../consumer.ts";
import { RuleChanges } from "./rule-changes.ts";

export type AddressFamily = "ip" | "ip6";

/** Addresses in the rules of one mode of kube-proxy. */
export interface FoundRules {
  readonly used: ReadonlySet<string>;
  /** Whether these rules are those of IPVS mode, which say nothing of endpoints. */
  readonly isForIpvs?: boolean;
  /** kube-proxy has its chains here, but no Service. */
  readonly isEmpty?: boolean;
}

/** The mode whose endpoints are virtual servers, in no table of rules. */
export const ipvsMode = "ipvs";

/** The rules of an address family without Services. */
export const emptyRules: FoundRules = { used: new Set(), isEmpty: true };

/** One place where kube-proxy may have its rules. */
export interface KubeProxyRules {
  readonly mode: string;
  /** Whether `nft monitor` shows changes of them. */
  readonly isMonitored?: boolean;
  /** @returns undefined where kube-proxy has no rules in this place. @throws where that is not known. */
  used(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<FoundRules | undefined>;
}

/**
 * The node's kube-proxy, by its rules. An address is used if any place says so. Rules that an earlier mode left behind can therefore delay a
 * release, but never bring it forward.
 */
export class KubeProxy implements Consumer {
  readonly kind = facts.name;
  readonly basis = "rules";
  readonly runsPrograms = true;
  readonly #places: readonly KubeProxyRules[];
  readonly #changes = new RuleChanges();
  /** All rules that the last look has found, of both families. */
  #isMonitored = false;

  constructor(places: readonly KubeProxyRules[]) {
    this.#places = places;
  }

  async stillUsed(addresses: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    this.#isMonitored = true;
    const six = addresses.filter((address) => isIPv6(address));
    const four = addresses.filter((address) => !isIPv6(address));
    const used = new Set<string>();
    if (four.length > 0 || six.length === 0)
      for (const address of await this.#used("ip", four, signal)) used.add(address);
    if (six.length > 0) for (const address of await this.#used("ip6", six, signal)) used.add(address);
    return used;
  }

  async changed(since: number, signal: AbortSignal): Promise<void> {
    if (this.#isMonitored) await this.#changes.after(since, signal);
  }

  rest(): void {
    this.#changes.stop();
  }

  async #used(
    family: AddressFamily,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const found = await this.#look(family, addresses, signal);
    const looked = `${this.#places.map(({ mode }) => mode).join(", ")}; family ${family}`;
    // Chains left behind by an earlier mode do not replace virtual servers that cannot be read.
    if (found.needsIpvs && !found.hasIpvs)
      throw unreadable(
        "kube-proxy",
        `it is in IPVS mode, and its virtual servers cannot be seen (looked at ${looked})`,
      );
    if (found.hasRules) return found.used;
    // In a dual-stack cluster all Services may have one family. Where the rules of that family can be read, rules of the other family could be read, too.
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
      if (place.isMonitored !== true) this.#isMonitored = false;
      if (found.isForIpvs === true) all.needsIpvs = true;
      else all.hasRules = true;
      if (place.mode === ipvsMode) all.hasIpvs = true;
      for (const address of found.used) all.used.add(address);
    }
    return all;
  }
}
