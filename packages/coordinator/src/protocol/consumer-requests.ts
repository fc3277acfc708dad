import { Answers } from "../state/answers.ts";
import type { Consumer } from "../state/consumer.ts";
import { servesNode, isNodeKind, isNodeProxy } from "@lameduck/senders";
import type { Consumers } from "../state/consumers.ts";
import type { Pods } from "../state/pods.ts";
import type { Withdrawals } from "../state/withdrawals.ts";
import type { Identity } from "../tokens.ts";
import { LongPolls, type LongPoll } from "./long-polls.ts";
import type { OtherVersion } from "./other-versions.ts";
import type { Reply } from "./reply.ts";
import { parseReport, type PostedReport } from "./report.ts";
import { ReportedNames } from "./reported-names.ts";

export type ReportOutcome =
  "taken" | "unreadable" | "other-version" | "unauthorized" | "forbidden" | "too-many";

export interface ConsumerRequestsOptions {
  readonly epoch: string;
  /** Accounts that report as these kinds alone. */
  readonly kinds?: ReadonlyMap<string, readonly string[]>;
  readonly consumers: Consumers;
  readonly withdrawals: Withdrawals;
  readonly pods: Pods;
  readonly now: () => number;
  readonly onReport: (outcome: ReportOutcome) => void;
  readonly onOtherVersion: (heard: OtherVersion) => void;
  /** A consumer's watermark has advanced. */
  readonly onAdvance: () => void;
}

interface ParkedReport extends LongPoll {
  readonly key: string;
  readonly posted: PostedReport;
  readonly reply: Reply;
}

/** Least milliseconds between two answers to one consumer. With very many consumers it is longer, for five answers a millisecond in all. */
const answerInterval = 500;
const perMillisecond = 5;
/** Milliseconds for which a process that is about to end keeps a request, so that clients do not ask in a tight loop. */
export const longestAtEnd = 1_000;
/** Milliseconds without a report after which a consumer whose pod is gone is dropped. Idle consumers report more often than that. */
const forgetAfter = 60_000;
/** Milliseconds for which answers are written before the event loop gets its turn. */
const sweepSlice = 10;
/** Characters of a consumer's name that are logged. */
const longestName = 253;

/** Takes the reports of consumers, and answers them with new withdrawals. */
export class ConsumerRequests {
  readonly #options: ConsumerRequestsOptions;
  readonly #parked = new LongPolls<ParkedReport>();
  readonly #answeredAt = new Map<string, number>();
  /** By consumer: the pod that reports for it. */
  readonly #owners = new Map<string, string>();
  readonly #names = new ReportedNames();
  readonly #answers: Answers;
  #isSweeping = false;
  #isClosing = false;

  constructor(options: ConsumerRequestsOptions) {
    this.#options = options;
    this.#answers = new Answers(options.epoch, options.withdrawals);
  }

  get parked(): number {
    return this.#parked.size;
  }

  report(name: string, text: string, identity: Identity, reply: Reply): void {
    const { onReport, onOtherVersion } = this.#options;
    const posted = parseReport(text, name);
    if (typeof posted === "string") {
      onReport("unreadable");
      this.#refuse(reply, 400, posted);
      return;
    }
    if ("version" in posted) {
      onReport("other-version");
      onOtherVersion({ who: this.#nameOf(name, identity), version: posted.version });
      this.#refuse(reply, 400, "version: only 1 is known");
      return;
    }
    const refusal = this.#reasonToRefuse(posted, identity);
    if (refusal !== undefined) {
      onReport("forbidden");
      this.#refuse(reply, 403, refusal);
      return;
    }
    this.#take(posted, identity, reply);
  }

  /** A report that is not read. */
  unread(status: number, error: string, reply: Reply): void {
    if (status === 401) this.#options.onReport("unauthorized");
    else if (status === 403) this.#options.onReport("forbidden");
    this.#refuse(reply, status, error, true);
  }

  /** The consumers that a pod reports for. */
  reportedBy(podUid: string): readonly string[] {
    return [...this.#owners].flatMap(([key, owner]) => (owner === podUid ? [key] : []));
  }

  /** Answers the requests that are due. Called at intervals, and after each withdrawal. */
  sweep(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const waiting = this.#parked.all();
    const go = (): void => {
      const began = performance.now();
      const now = this.#options.now();
      for (const one of waiting) {
        if (now < one.until && !this.#isDue(one, now)) continue;
        this.#release(one, now);
        if (performance.now() - began < sweepSlice) continue;
        setImmediate(go);
        return;
      }
      this.#isSweeping = false;
    };
    go();
  }

  /** Drops proxies whose pods are gone, as after each rollout of an ingress. A node's proxy counts as long as its node. */
  forget(): void {
    const { consumers, pods, now } = this.#options;
    for (const [key, owner] of this.#owners) {
      const consumer = consumers.get(key);
      const isGone =
        consumer && !isNodeProxy(consumer) && !pods.get(owner) && now() - consumer.heardAt > forgetAfter;
      if (isGone) consumers.remove(consumer);
      if (isGone || !consumer) this.#owners.delete(key);
    }
    this.#names.forget((key) => consumers.get(key) !== undefined);
    for (const key of this.#answeredAt.keys()) if (!consumers.get(key)) this.#answeredAt.delete(key);
  }

  /** Answers every request, because this process ends. The clients ask another replica. */
  close(): void {
    this.#isClosing = true;
    const now = this.#options.now();
    for (const one of this.#parked.all()) this.#release(one, now);
  }

  #take(posted: PostedReport, identity: Identity, reply: Reply): void {
    const { epoch, consumers, withdrawals, now, onReport, onAdvance } = this.#options;
    const at = now();
    const isCurrent = posted.epoch === epoch;
    const { lastSequence: head } = withdrawals;
    if (isCurrent && (posted.report.applied > head || (posted.report.also.at(-1)?.[1] ?? 0) > head)) {
      onReport("unreadable");
      this.#refuse(reply, 400, `applied: the last number is ${head}`);
      return;
    }
    // Numbers of another run mean nothing here.
    const report = isCurrent ? posted.report : { ...posted.report, applied: 0, also: [] };
    const key = `${report.kind}/${report.name}`;
    // On a stream a report stands for all before it.
    for (const other of this.#parked.of(key)) if (other.reply === reply) this.#parked.take(key, other);
    const known = consumers.get(key);
    if (!isCurrent) known?.reset();
    const before = known?.applied ?? -1;
    // A token of a node's proxy names but one.
    const mayBeNamed = isNodeKind(report.kind) || this.#names.take(identity.podUid ?? identity.account, key);
    const consumer = mayBeNamed ? consumers.report(report, at) : undefined;
    if (!consumer) {
      onReport("too-many");
      this.#refuse(reply, 503, "there are too many consumers");
      return;
    }
    onReport("taken");
    if (identity.podUid !== undefined) this.#owners.set(key, identity.podUid);
    if (consumer.applied > before || report.also.length > 0) onAdvance();
    const mine: PostedReport = { ...posted, report, known: isCurrent ? posted.known : 0 };
    const wait = this.#isClosing ? Math.min(posted.wait, longestAtEnd) : posted.wait;
    const one = { key, posted: mine, reply, until: at + wait };
    if (!isCurrent || posted.wait === 0 || this.#isDue(one, at)) this.#answer(one, at);
    else {
      // A consumer needs one waiting request: an earlier one is answered now.
      for (const other of this.#parked.of(key)) this.#release(other, at);
      this.#parked.add(key, one);
      reply.onClose(() => this.#parked.take(key, one));
    }
  }

  /** Whether there is a new withdrawal and the consumer's last answer is old enough, so that one answer carries several withdrawals. */
  #isDue({ key, posted }: Pick<ParkedReport, "key" | "posted">, now: number): boolean {
    if (this.#options.withdrawals.lastSequence <= posted.known) return false;
    const quiet = Math.max(answerInterval, this.#options.consumers.size / perMillisecond);
    return now - (this.#answeredAt.get(key) ?? -Infinity) >= quiet;
  }

  #release(one: ParkedReport, now: number): void {
    if (this.#parked.take(one.key, one)) this.#answer(one, now);
  }

  #answer({ key, posted, reply }: ParkedReport, now: number): void {
    if (reply.isOver) return;
    this.#answeredAt.set(key, now);
    const { applied, also } = posted.report;
    reply.answer(200, this.#answers.after(applied, also), this.#isClosing);
  }

  /** An account that is bound to kinds can name nobody else. */
  #nameOf(name: string, { account, podUid, node }: Identity): string {
    const { kinds, pods } = this.#options;
    const own = kinds?.get(account);
    const boundTo = node ?? (podUid === undefined ? undefined : pods.get(podUid)?.node);
    const isOwn = own === undefined || own.some((kind) => name === `${kind}/${boundTo}`);
    return isOwn ? name.slice(0, longestName) : account;
  }

  #reasonToRefuse({ report }: PostedReport, { account, podUid, node }: Identity): string | undefined {
    const { kinds, pods, consumers } = this.#options;
    const own = kinds?.get(account);
    if (own && !own.includes(report.kind)) return `${account} may report as ${own.join(", ")} only`;
    const isOfNode = isNodeProxy(report);
    if (own && isNodeKind(report.kind) && report.serves.some((need) => need !== servesNode))
      return `${account} serves its node only`;
    const pod = podUid === undefined ? undefined : pods.get(podUid);
    const boundTo = node ?? pod?.node;
    // Whoever may make tokens for an account could speak for every node.
    if (isOfNode && boundTo === undefined) return "the token belongs to no node that is known here";
    if (boundTo !== undefined && report.node !== undefined && report.node !== boundTo)
      return "the token belongs to another node";
    const key = `${report.kind}/${report.name}`;
    const known: Consumer | undefined = consumers.get(key);
    const owner = this.#owners.get(key);
    // A watcher's successor may report for the node before its predecessor is gone.
    const isTakenOver = known !== undefined && owner !== undefined && owner !== podUid;
    if (isTakenOver && !isOfNode && pods.get(owner)?.isFinished === false)
      return "another pod reports by this name";
    return undefined;
  }

  #refuse(reply: Reply, status: number, error: string, isLast = false): void {
    reply.answer(status, JSON.stringify({ version: 1, error }), isLast);
  }
}
