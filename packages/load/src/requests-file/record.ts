import type { RequestRecord } from "@lameduck/accounting";
import type { LoadEnd } from "../routes/load-source.ts";
import { classify, type Classification } from "./failure.ts";
import type { ReportedRequest } from "./parser.ts";

/** Files with more different errors or URLs than this repeat them too rarely for a cache. */
const mostNames = 10_000;

/** Turns the requests of load tools into the records that the accounting takes. */
export class Recorder {
  readonly #offset: number;
  readonly #podAt: LoadEnd["podAt"];
  readonly #names = new Map<string, string>();
  readonly #senders = new Map<string | undefined, string>();
  /** Failures whose words mean nothing to us, and how many had them. */
  readonly unknown = new Map<string, number>();

  /** @param offset milliseconds to add to a time since 1970 to have it on the run's clock */
  constructor(offset: number, podAt: LoadEnd["podAt"]) {
    this.#offset = offset;
    this.#podAt = podAt;
  }

  record(reported: ReportedRequest, id: number): RequestRecord {
    const offset = this.#offset;
    const status = reported.status ?? 0;
    const classified: Classification =
      reported.dropped === true
        ? { outcome: "not-sent", error: reported.error ?? "dropped" }
        : classify(reported.error ?? "", status, {
            answerBegun: reported.answerBegun ?? false,
            meant: reported.meant ?? false,
          });
    if (classified.unknown) this.#note(classified.error ?? "");
    const sent = reported.sent === undefined ? undefined : reported.sent + offset;
    const connectionless = classified.outcome === "refused" || classified.outcome === "unreachable";
    return {
      id,
      intended: reported.begun + offset,
      ...(sent === undefined ? {} : { sent }),
      finished: reported.finished + offset,
      // Tools keep connections alive by default; a new one is marked in the file.
      mode: reported.reused === false || connectionless ? "new" : "pooled",
      kind: "quick",
      sender: this.#sender(reported.url),
      ...this.#pod(reported, reported.begun + offset),
      reused: reported.reused === true && !connectionless,
      outcome: classified.outcome,
      ...(status > 0 ? { status } : {}),
      ...(classified.error === undefined ? {} : { error: this.#once(classified.error) }),
      received: reported.received ?? 0,
    };
  }

  #pod(reported: ReportedRequest, at: number): Pick<RequestRecord, "pod" | "podKnownBy"> {
    if (reported.pod !== undefined) return { pod: this.#once(reported.pod), podKnownBy: "header" };
    if (reported.upstream !== undefined) {
      // nginx lists every address it tried, the last one answered.
      const last = reported.upstream.split(/[,:] /).at(-1)?.trim() ?? "";
      const pod =
        this.#podAt(last.replace(/:\d+$/, ""), at) ?? (/^[\d.:[\]]+$/.test(last) ? undefined : last);
      if (pod !== undefined) return { pod: this.#once(pod), podKnownBy: "proxy" };
    }
    const pod = reported.address === undefined ? undefined : this.#podAt(reported.address, at);
    return pod === undefined ? {} : { pod, podKnownBy: "address" };
  }

  #sender(url: string | undefined): string {
    const known = this.#senders.get(url);
    if (known !== undefined) return known;
    const sender = this.#once(hostOf(url));
    if (this.#senders.size < mostNames) this.#senders.set(url && this.#once(url), sender);
    return sender;
  }

  #note(words: string): void {
    const key = this.unknown.size < 20 || this.unknown.has(words) ? this.#once(words) : "others";
    this.unknown.set(key, (this.unknown.get(key) ?? 0) + 1);
  }

  /** One copy of each text: a part of a line would keep the whole block of the file in memory. */
  #once(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const copy = Buffer.from(text).toString();
    if (this.#names.size < mostNames) this.#names.set(copy, copy);
    return copy;
  }
}

function hostOf(url: string | undefined): string {
  return (url === undefined ? undefined : URL.parse(url)?.host) || "load";
}
