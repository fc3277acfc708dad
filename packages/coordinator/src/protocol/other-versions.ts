import { otherVersion, type OperatorError } from "@lameduck/protocol";

export interface OtherVersion {
  /** "kube-proxy/node1", or "pods" for those that nobody has identified. */
  readonly who: string;
  readonly version: string;
}

/** Whoever speaks another version tries again sooner. */
const shownForMs = 60_000;
/** Between two lines on one of them. Anybody may ask by one version and another in turn. */
const betweenLinesMs = 60_000;
/** Of those that are remembered. */
const most = 100;

interface Heard {
  readonly version: string;
  readonly at: number;
  readonly loggedAt: number;
}

/** Who speaks another major version of the protocol. They count as silent: nothing of what they say is taken. */
export class OtherVersions {
  readonly #heard = new Map<string, Heard>();
  readonly #now: () => number;
  readonly #onNew: (error: OperatorError) => void;

  constructor(now: () => number, onNew: (error: OperatorError) => void) {
    this.#now = now;
    this.#onNew = onNew;
  }

  heard({ who, version }: OtherVersion): void {
    const at = this.#now();
    const known = this.#heard.get(who);
    if (!known) this.#forget(at - shownForMs);
    if (!known && this.#heard.size >= most) return;
    const isLogged = known && (known.version === version || at - known.loggedAt < betweenLinesMs);
    this.#heard.set(who, { version, at, loggedAt: isLogged ? known.loggedAt : at });
    if (!isLogged) this.#onNew(otherVersion(who, version));
  }

  /** Makes room for others, where there is none. */
  #forget(before: number): void {
    if (this.#heard.size < most) return;
    for (const [who, { at }] of this.#heard) if (at < before) this.#heard.delete(who);
  }

  /** Those of the last minute. */
  get lately(): readonly OtherVersion[] {
    const since = this.#now() - shownForMs;
    return [...this.#heard].flatMap(([who, { version, at }]) => (at >= since ? [{ who, version }] : []));
  }
}
