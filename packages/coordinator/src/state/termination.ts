import type { ReleaseState } from "@lameduck/protocol";
import type { ContainerExit, Injected, SlimPod, WorkloadName } from "@lameduck/cluster";
import type {
  Cause,
  NamedConsumers,
  StuckConsumer,
  TerminationNews,
  TerminationView,
} from "../termination-view.ts";
import type { Withdrawals } from "./withdrawals.ts";

/**
 * What a method of a termination has done: what listeners hear, and besides
 * - `answered`: the state that the pod is answered is another one.
 * - `told to end`: somebody asks for the end of its hold.
 * - `gone`: its object is.
 */
export type Transition = TerminationNews | "answered" | "told to end" | "gone";

/** What was found of a termination. */
export interface Decision {
  readonly state: ReleaseState;
  readonly because?: Cause | undefined;
}

/** Who a connection after a release came from, as far as its address tells. */
export interface Overruling {
  readonly falseAcknowledgers: readonly string[];
  readonly overruler: string | undefined;
  readonly mayBeProbe: boolean;
}

/** From the end of all containers until the object counts as one that stays: the kubelet removes it within a second or two. */
const lingersAfterMs = 10_000;
/** From the last question about a pod that is not being deleted, until nobody follows it. */
const heldForMs = 60_000;

const nothing: readonly Transition[] = [];
const when = (holds: boolean, what: Transition): readonly Transition[] => (holds ? [what] : nothing);

interface TerminationOptions {
  /** Where consumers find what to look for. */
  readonly withdrawals: Pick<Withdrawals, "add" | "drop">;
  readonly consumersOf: (termination: Termination) => NamedConsumers;
  /** Nothing listens at the pod any more, and another pod may soon have its address: no release waits for consumers. */
  readonly onEnd: (termination: Termination) => void;
  readonly now: number;
}

/** One termination. `StateMachine` alone writes its fields. */
export type Termination = Readonly<StateMachine>;

export function terminationOf(pod: SlimPod, options: TerminationOptions): Termination {
  return new StateMachine(pod, options);
}

/**
 * The life of a termination. Each method returns what it has done; one that does not fit the state does nothing.
 *
 *     held only --deletion--> begun                                       somebody may ask about a pod before it is deleted
 *     published --withdraw--> withdrawn --number--> numbered --settle--> released
 *         ^                       ^-----unnumber-------'  '                 |
 *         '---------------------------publish-------------'-----------------'
 *     ended: once, `linger` (its containers have ended, its object stays) or `remove`
 */
class StateMachine implements TerminationView {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string | undefined;
  readonly workload: WorkloadName | undefined;
  readonly graceSeconds: number;
  readonly injected: Injected | undefined;
  readonly isHostNetwork: boolean;
  readonly hasHostPort: boolean;
  readonly #options: TerminationOptions;
  deletedAt: number;
  addresses: readonly string[];
  exits: readonly ContainerExit[];
  finalizers: readonly string[];
  /** The pod is not being deleted: somebody asks whether it could be. */
  isHeldOnly: boolean;
  /** Somebody asks for the end of its hold. */
  isToEnd: boolean;
  state: ReleaseState = "waiting";
  /** Why it is in this state, as it was found last. */
  because: Cause | undefined;
  withdrawnAt: number | undefined;
  /** By then every proxy has added the pod. Before, its absence from rules proves nothing. */
  proxiesSettledAt = -Infinity;
  sequence: number | undefined;
  isMeasured = false;
  releasedAt: number | undefined;
  reported: Readonly<Record<string, string>> = {};
  overruledBy: string | undefined;
  overruler: string | undefined;
  falseAcknowledgers: readonly string[] = [];
  mayBeProbe = false;
  /** Nodes from which it has seen connections; undefined while it has told of none, or sees some from outside the cluster. */
  seenNodes: ReadonlySet<string> | undefined;
  goneAt: number | undefined;
  stuck: readonly StuckConsumer[] = [];
  #askedAt: number;
  #needs: readonly string[] = [];
  #seesOutside = false;
  #finishedAt: number | undefined;
  #hasEnded = false;

  constructor(pod: SlimPod, options: TerminationOptions) {
    const { metadata, node, addresses, workload, graceSeconds, exits, finalizers } = pod;
    this.uid = metadata.uid;
    this.namespace = metadata.namespace ?? "";
    this.name = metadata.name;
    this.node = node;
    this.workload = workload;
    this.graceSeconds = graceSeconds;
    this.injected = pod.injected;
    this.isHostNetwork = pod.hostAddress !== undefined;
    this.hasHostPort = pod.hasHostPort;
    this.#options = options;
    this.deletedAt = pod.deletedAt ?? options.now;
    this.addresses = addresses;
    this.exits = exits;
    this.finalizers = finalizers;
    this.isHeldOnly = pod.deletedAt === undefined;
    this.isToEnd = pod.isToEnd === true;
    this.#askedAt = options.now;
    if (pod.isFinished) this.#finishedAt = options.now;
  }

  get consumers(): NamedConsumers {
    return this.#options.consumersOf(this);
  }

  /** All of its containers have ended. */
  get isFinished(): boolean {
    return this.#finishedAt !== undefined;
  }

  /** Its release is still to be decided. */
  get isPending(): boolean {
    return this.state !== "released" && this.goneAt === undefined;
  }

  /** Time alone may bring it further. */
  get isWaiting(): boolean {
    return this.isPending || (this.isFinished && !this.#hasEnded);
  }

  /** Consumers may be asked about it. The node's own address never falls out of use: other pods have it, too. */
  get isAskable(): boolean {
    return (
      this.withdrawnAt !== undefined && !this.isHostNetwork && !this.isFinished && this.goneAt === undefined
    );
  }

  /** A later report of another sender changes nothing: it is said once. */
  get mayBeOverruled(): boolean {
    return this.overruledBy === undefined && !this.isHeldOnly;
  }

  /** Whether listeners hear of it. A pod that somebody only asks about is nobody's news, but for what it says itself. */
  isNews(what: Transition): what is TerminationNews {
    if (what === "answered" || what === "told to end" || what === "gone") return false;
    return !this.isHeldOnly || what === "reported";
  }

  /** Somebody asks whether it could be deleted. */
  ask(now: number): void {
    if (this.isHeldOnly) this.#askedAt = now;
  }

  /** Nobody asks any more about a pod that is not being deleted. */
  isForgotten(now: number): boolean {
    return this.isHeldOnly && now - this.#askedAt > heldForMs;
  }

  /** Whether consumers have not looked for some address of the pod yet: the termination may be older than it. */
  hasNewAddress({ addresses }: SlimPod): boolean {
    return addresses.some((address) => !this.addresses.includes(address));
  }

  /** The pod has changed. */
  update(pod: SlimPod, now: number): readonly Transition[] {
    const happened: Transition[] = [];
    const isBeginning = this.isHeldOnly && pod.deletedAt !== undefined;
    if (isBeginning) {
      this.isHeldOnly = false;
      this.deletedAt = pod.deletedAt;
      happened.push("began");
    }
    if (this.hasNewAddress(pod)) {
      happened.push(...this.publish());
      this.addresses = pod.addresses;
    }
    if (pod.isToEnd && !this.isToEnd) {
      this.isToEnd = true;
      happened.push("told to end");
    }
    if (pod.exits.length !== this.exits.length) happened.push("exited");
    if (pod.isFinished && (!this.isFinished || isBeginning)) {
      this.#finishedAt = now;
      this.#options.onEnd(this);
    }
    this.exits = pod.exits;
    this.finalizers = pod.finalizers;
    return this.#happened(...happened);
  }

  /** No ready endpoint is the pod's any more. */
  withdraw(now: number): readonly Transition[] {
    if (this.withdrawnAt !== undefined) return nothing;
    this.withdrawnAt = now;
    return this.#happened("withdrawn");
  }

  /** The pod is among the ready endpoints, as far as consumers may know. */
  publish(): readonly Transition[] {
    if (this.withdrawnAt === undefined) return nothing;
    this.#forgetSequence();
    this.withdrawnAt = undefined;
    this.releasedAt = undefined;
    this.because = undefined;
    return this.#happened("published", ...this.#answer("waiting"));
  }

  /** Proxies have added the pod by then, if not by a later time that is known already. */
  proxiesSettle(at: number): void {
    this.proxiesSettledAt = Math.max(this.proxiesSettledAt, at);
  }

  /**
   * Asks consumers about the withdrawal: anew, where someone must hear of it who was not told.
   * @param needs by which consumers are known that hear of some pods only.
   */
  number(now: number, needs: readonly string[] = []): readonly Transition[] {
    if (!this.isAskable) return nothing;
    if (this.sequence !== undefined) {
      if (!this.isPending || needs.every((need) => this.#needs.includes(need))) return nothing;
      this.#options.withdrawals.drop(this.sequence);
    }
    this.#needs = needs;
    this.sequence = this.#options.withdrawals.add(this.addresses, now, needs);
    // A held deletion is let through once consumers have let go: how long they take after a deletion does not show.
    this.isMeasured = this.withdrawnAt === now && !this.isHeldOnly;
    return this.#happened("numbered");
  }

  /** What consumers have said of the withdrawal is over: a proxy may have let go, and add the pod again. */
  unnumber(): readonly Transition[] {
    if (!this.isAskable || !this.isPending || this.sequence === undefined) return nothing;
    this.#forgetSequence();
    return this.#happened("unnumbered");
  }

  /** The withdrawal may be older than it looks: the times of consumers do not tell how fast they are. */
  doubtTimes(): void {
    this.isMeasured = false;
  }

  /** Takes what was found of its consumers. A release is final: it is taken back by `publish` alone. */
  settle({ state: found, because }: Decision, now: number): readonly Transition[] {
    if (!this.isPending || (found === "released" && this.sequence === undefined)) return nothing;
    if (found === "released") this.releasedAt = now;
    this.because = because;
    return this.#happened(...this.#answer(found), ...when(found === "released", "released"));
  }

  /**
   * The pod says something of itself. Later values replace earlier ones.
   * @param senders nodes from which senders come; undefined for one from outside the cluster, which may come through any node.
   * @param overruling who sent the connection that the report tells of.
   */
  report(
    fields: Readonly<Record<string, string>>,
    senders: readonly (string | undefined)[] = [],
    overruling?: Overruling,
  ): readonly Transition[] {
    this.reported = { ...this.reported, ...fields };
    if (senders.length > 0) this.#see(senders);
    const isOverruled = overruling !== undefined && this.mayBeOverruled;
    if (isOverruled) {
      this.overruledBy = fields["overruled"];
      this.overruler = overruling.overruler;
      this.falseAcknowledgers = overruling.falseAcknowledgers;
      this.mayBeProbe = overruling.mayBeProbe;
    }
    const isAgainstRelease = isOverruled && this.releasedAt !== undefined && !overruling.mayBeProbe;
    return this.#happened("reported", ...when(isAgainstRelease, "overruled"));
  }

  /** Its containers have ended, and something else than the kubelet keeps its object: what there is to record is recorded. */
  linger(now: number): readonly Transition[] {
    const isDue = this.#finishedAt !== undefined && now - this.#finishedAt > lingersAfterMs;
    return isDue && !this.isHeldOnly ? this.#end() : nothing;
  }

  /** The object of the pod is gone, or nobody asks about it any more. */
  remove(now: number): readonly Transition[] {
    if (this.goneAt !== undefined) return nothing;
    this.goneAt = now;
    if (!this.isFinished) this.#options.onEnd(this);
    const ended = this.#end();
    return this.isHeldOnly ? nothing : [...ended, "gone"];
  }

  /** These consumers have not let go long after its end, of which everything is told. */
  nameStuck(consumers: readonly StuckConsumer[]): readonly Transition[] {
    this.stuck = consumers;
    return ["stuck"];
  }

  #end(): readonly Transition[] {
    const ended = this.#happened("ended");
    this.#hasEnded = true;
    return ended;
  }

  #see(nodes: readonly (string | undefined)[]): void {
    this.#seesOutside ||= nodes.includes(undefined);
    const found = nodes.filter((node) => node !== undefined);
    this.seenNodes = this.#seesOutside ? undefined : new Set([...(this.seenNodes ?? []), ...found]);
  }

  #answer(state: ReleaseState): readonly Transition[] {
    const isOther = state !== this.state;
    this.state = state;
    return when(isOther, "answered");
  }

  /** Consumers need not look for it any more. */
  #forgetSequence(): void {
    if (this.sequence !== undefined) this.#options.withdrawals.drop(this.sequence);
    this.sequence = undefined;
    this.isMeasured = false;
  }

  /** Once it has ended there is no more news of it. */
  #happened(...what: readonly Transition[]): readonly Transition[] {
    return this.#hasEnded ? nothing : what;
  }
}
