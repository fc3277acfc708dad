import {
  type ConsumerReport,
  type OtherVersionMessage,
  parseConsumerReport,
  writeRefusal,
} from "@lameduck/protocol";
import { Answers } from "../state/answers.ts";
import type { Consumer } from "../state/consumer.ts";
import { isNodeKind, isNodeProxy, mayServe } from "@lameduck/senders";
import type { Consumers } from "../state/consumers.ts";
import type { Pods } from "../state/pods.ts";
import { needsHeardBy, type Withdrawals } from "../state/withdrawals.ts";
import type { Identity } from "../tokens.ts";
import type { OtherVersion } from "./other-versions.ts";
import type { ReportStream } from "./report-stream.ts";
import { NameQuota } from "./name-quota.ts";

export type ReportOutcome =
  | "taken"
  | "unreadable"
  | "other-version"
  | "unauthorized"
  | "forbidden"
  | "too-many";

interface ConsumerRequestsOptions {
  readonly epoch: string;
  /** Accounts that report as these kinds alone, and for nothing that such a kind does not read. */
  readonly kinds?: ReadonlyMap<string, readonly string[]>;
  readonly controllerOf?: (ingressClass: string) => string | undefined;
  readonly consumers: Consumers;
  readonly withdrawals: Withdrawals;
  readonly pods: Pods;
  readonly now: () => number;
  readonly onReport: (outcome: ReportOutcome) => void;
  readonly onOtherVersion: (heard: OtherVersion) => void;
  /** A consumer's watermark has advanced. */
  readonly onAdvance: () => void;
}

/** Where the answers to a report go. */
type Replies = Pick<ReportStream, "isOver" | "answer" | "onClose">;

/** A report, and by which name. */
type NamedReport = ConsumerReport & { readonly name: string };

/** A report that is answered when there is news, or at a time. */
interface WaitingReport {
  readonly key: string;
  readonly report: NamedReport;
  readonly stream: Replies;
  /** When it is answered at the latest, milliseconds by the coordinator's clock. */
  readonly until: number;
}

/** Between two answers to one consumer, at least. With very many consumers it is longer, for five answers a millisecond in all. */
const answerIntervalMs = 500;
const answersPerMs = 5;
/** For so long a process that is about to end keeps a request, so that clients do not ask in a tight loop. */
export const longestAtEndMs = 1_000;
/** Without a report for so long, a consumer whose pod is gone is dropped. Idle consumers report more often than that. */
const forgetAfterMs = 60_000;
/** For so long answers are written before the event loop gets its turn. */
const sweepSliceMs = 10;
/** Characters of a consumer's name that are logged. */
const longestName = 253;

/** Takes the reports of consumers, and answers them with new withdrawals. */
export class ConsumerRequests {
  readonly #options: ConsumerRequestsOptions;
  /** By consumer: each needs but one. */
  readonly #waiting = new Map<string, WaitingReport>();
  readonly #answeredAt = new Map<string, number>();
  readonly #owners = new Owners();
  readonly #names = new NameQuota();
  readonly #answers: Answers;
  #isSweeping = false;
  #isClosing = false;

  constructor(options: ConsumerRequestsOptions) {
    this.#options = options;
    this.#answers = new Answers(options.epoch, options.withdrawals);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  report(name: string, text: string, identity: Identity, stream: Replies): void {
    const { onReport, onOtherVersion } = this.#options;
    const posted = parseReport(text, name);
    if (typeof posted === "string") {
      onReport("unreadable");
      this.#refuse(stream, 400, posted);
      return;
    }
    if ("version" in posted) {
      onReport("other-version");
      onOtherVersion({ who: this.#nameOf(name, identity), version: posted.version });
      this.#refuse(stream, 400, "version: only 1 is known");
      return;
    }
    const refusal = this.#reasonToRefuse(posted, identity);
    if (refusal !== undefined) {
      onReport("forbidden");
      this.#refuse(stream, 403, refusal);
      return;
    }
    this.#take(posted, identity, stream);
  }

  /** Reports that are not read. */
  unread(status: number, error: string, stream: Replies): void {
    if (status === 401) this.#options.onReport("unauthorized");
    else if (status === 403) this.#options.onReport("forbidden");
    this.#refuse(stream, status, error, true);
  }

  /** The consumers that a pod reports for. */
  reportedBy(podUid: string): readonly string[] {
    return this.#owners.keysOf(podUid);
  }

  /** Answers the reports that are due. Called at intervals, and after each withdrawal. */
  sweep(): void {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    const waiting = this.#waiting.values();
    const go = (): void => {
      const began = performance.now();
      const now = this.#options.now();
      for (const one of waiting) {
        if (now < one.until && !this.#isDue(one, now)) continue;
        this.#release(one, now);
        if (performance.now() - began < sweepSliceMs) continue;
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
    for (const [key, owner] of this.#owners.all) {
      const consumer = consumers.get(key);
      const isGone =
        consumer && !isNodeProxy(consumer) && !pods.get(owner) && now() - consumer.heardAt > forgetAfterMs;
      if (isGone) consumers.remove(consumer);
      if (isGone || !consumer) this.#owners.delete(key);
    }
    this.#names.forget((key) => consumers.get(key) !== undefined);
    for (const key of this.#answeredAt.keys()) if (!consumers.get(key)) this.#answeredAt.delete(key);
  }

  /** Answers every report, because this process ends. The consumers go on at another replica. */
  close(): void {
    this.#isClosing = true;
    const now = this.#options.now();
    for (const one of this.#waiting.values()) this.#release(one, now);
  }

  #take(posted: NamedReport, identity: Identity, stream: Replies): void {
    const { epoch, consumers, withdrawals, now, onReport, onAdvance } = this.#options;
    const at = now();
    const isCurrent = posted.epoch === epoch;
    const { lastSequence: head } = withdrawals;
    if (isCurrent && (posted.applied > head || (posted.also.at(-1)?.[1] ?? 0) > head)) {
      onReport("unreadable");
      this.#refuse(stream, 400, `applied: the last number is ${head}`);
      return;
    }
    // Numbers of another run mean nothing here.
    const report = isCurrent ? posted : { ...posted, applied: 0, also: [], known: 0 };
    const key = `${report.kind}/${report.name}`;
    // A report stands for all before it on its stream.
    const before = this.#waiting.get(key);
    if (before?.stream === stream) this.#waiting.delete(key);
    const known = consumers.get(key);
    if (!isCurrent) known?.reset(at);
    else if (known && isOtherListener(known, report)) {
      onReport("unreadable");
      this.#refuse(stream, 400, "serves: it has changed; begin anew, with epoch null");
      return;
    }
    const appliedBefore = known?.applied ?? -1;
    // A token of a node's proxy names but one.
    const mayBeNamed = isNodeKind(report.kind) || this.#names.take(identity.podUid ?? identity.account, key);
    const consumer = mayBeNamed ? consumers.report(report, at) : undefined;
    if (!consumer) {
      onReport("too-many");
      this.#refuse(stream, 503, "there are too many senders");
      return;
    }
    onReport("taken");
    if (identity.podUid !== undefined) this.#owners.set(key, identity.podUid);
    if (consumer.applied > appliedBefore || report.also.length > 0) onAdvance();
    const waitMs = this.#isClosing ? Math.min(report.waitMs, longestAtEndMs) : report.waitMs;
    const one = { key, report, stream, until: at + waitMs };
    if (!isCurrent || report.waitMs === 0 || this.#isDue(one, at)) this.#answer(one, at);
    else {
      // One that waits on another stream is answered now.
      if (before) this.#release(before, at);
      this.#waiting.set(key, one);
      stream.onClose(() => void this.#drop(one));
    }
  }

  /** Whether there is a new withdrawal for it, and the consumer's last answer is old enough, so that one answer carries several withdrawals. */
  #isDue({ key, report }: Pick<WaitingReport, "key" | "report">, now: number): boolean {
    const { withdrawals, consumers } = this.#options;
    if (withdrawals.lastSequence <= report.known) return false;
    const { kind, serves } = report;
    if (withdrawals.owedSince(report.known, { key, kind, serves }) === undefined) return false;
    const quiet = Math.max(answerIntervalMs, consumers.size / answersPerMs);
    return now - (this.#answeredAt.get(key) ?? -Infinity) >= quiet;
  }

  #release(one: WaitingReport, now: number): void {
    if (this.#drop(one)) this.#answer(one, now);
  }

  /** @returns false where it waits no more. */
  #drop(one: WaitingReport): boolean {
    return this.#waiting.get(one.key) === one && this.#waiting.delete(one.key);
  }

  #answer({ key, report, stream }: WaitingReport, now: number): void {
    if (stream.isOver) return;
    this.#answeredAt.set(key, now);
    const { applied, also, kind, serves } = report;
    stream.answer(200, this.#answers.after(applied, also, { key, kind, serves }), this.#isClosing);
  }

  /** An account that is bound to kinds can name nobody else. */
  #nameOf(name: string, { account, podUid, node }: Identity): string {
    const { kinds, pods } = this.#options;
    const own = kinds?.get(account);
    const boundTo = node ?? (podUid === undefined ? undefined : pods.get(podUid)?.node);
    const isOwn = own === undefined || own.some((kind) => name === `${kind}/${boundTo}`);
    return isOwn ? name.slice(0, longestName) : account;
  }

  #reasonToRefuse(report: NamedReport, { account, podUid, node }: Identity): string | undefined {
    const { kinds, pods, consumers, controllerOf = () => undefined } = this.#options;
    const own = kinds?.get(account);
    if (own && !own.includes(report.kind)) return `${account} may report as ${own.join(", ")} only`;
    const foreign = own && report.serves.find((need) => !mayServe(report.kind, need, controllerOf));
    if (foreign !== undefined)
      return `${account} may report as ${report.kind} only, which does not read ${foreign}`;
    const isOfNode = isNodeProxy(report);
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

  #refuse(stream: Replies, status: number, error: string, isLast = false): void {
    stream.answer(status, writeRefusal(error), isLast);
  }
}

/** Which pod reports for which consumer. */
class Owners {
  readonly #byKey = new Map<string, string>();
  readonly #byPod = new Map<string, readonly string[]>();

  get all(): Iterable<readonly [key: string, podUid: string]> {
    return this.#byKey;
  }

  get(key: string): string | undefined {
    return this.#byKey.get(key);
  }

  keysOf(podUid: string): readonly string[] {
    return this.#byPod.get(podUid) ?? [];
  }

  set(key: string, podUid: string): void {
    if (this.#byKey.get(key) === podUid) return;
    this.delete(key);
    this.#byKey.set(key, podUid);
    this.#byPod.set(podUid, [...this.keysOf(podUid), key]);
  }

  delete(key: string): void {
    const podUid = this.#byKey.get(key);
    if (podUid === undefined) return;
    this.#byKey.delete(key);
    const others = this.keysOf(podUid).filter((one) => one !== key);
    if (others.length > 0) this.#byPod.set(podUid, others);
    else this.#byPod.delete(podUid);
  }
}

/** What it has applied says nothing of the pods of which it did not hear. */
function isOtherListener(known: Consumer, { serves }: NamedReport): boolean {
  return (
    known.serves.join() !== serves.join() &&
    (needsHeardBy(known) !== undefined ||
      needsHeardBy({ key: known.key, kind: known.kind, serves }) !== undefined)
  );
}

/** @param name from the path: "KIND/NAME", or only the name. @returns what is wrong with it otherwise. */
export function parseReport(text: string, name: string): NamedReport | OtherVersionMessage | string {
  const parsed = parseConsumerReport(text);
  if (typeof parsed === "string" || "version" in parsed) return parsed;
  const own = name.startsWith(`${parsed.kind}/`) ? name.slice(parsed.kind.length + 1) : name;
  if (!/^[\w.:-]{1,253}$/.test(own)) return "the name in the path is none";
  const report = { name: own, ...parsed };
  if (isNodeProxy(report) && own !== report.node) return "node: a proxy of a node has that node's name";
  return report;
}
