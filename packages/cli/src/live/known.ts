import {
  account,
  buildResults,
  htmlReport,
  type PodEvent,
  type RemedyResult,
  type Results,
  type RunRecording,
  type SenderEvent,
} from "@lameduck/accounting";
import { ReadTable, type RecordNews } from "@lameduck/load";

/** What a run tells of itself while it goes on. */
export type RunNews =
  | { readonly type: "about"; readonly about: About; readonly senders: readonly string[] }
  /** A line for the person who waits. */
  | { readonly type: "state"; readonly line: string }
  | ({ readonly type: "records" } & RecordNews)
  | ({ readonly type: "events" } & Events)
  /** In place of records and events. */
  | { readonly type: "recording"; readonly recording: RunRecording; readonly description: string }
  | { readonly type: "measured"; readonly result: RemedyResult }
  /** The report of the whole run. */
  | { readonly type: "final"; readonly html: string };

/** What the results document says beside its remedies. */
export type About = Omit<Parameters<typeof buildResults>[0], "remedies">;

interface Events {
  readonly remedy: Pick<RemedyResult, "remedy" | "description">;
  /** It has just begun: all is of another remedy that came before. */
  readonly begins: boolean;
  /** Those that are new. */
  readonly podEvents: readonly PodEvent[];
  readonly senderEvents: readonly SenderEvent[];
  readonly countedFrom: number | undefined;
  readonly now: number;
}

const goesOn = "it still goes on";

/** A run as far as it is known, and its report. */
export class KnownRun {
  readonly #about: About;
  readonly #senders: readonly string[];
  #measured: readonly RemedyResult[] = [];
  #current: { readonly recording: RunRecording; readonly description: string } | undefined;
  #table: ReadTable;
  #podEvents: PodEvent[] = [];
  #senderEvents: SenderEvent[] = [];

  constructor({ about, senders }: RunNews & { type: "about" }) {
    this.#about = about;
    this.#senders = senders;
    this.#table = new ReadTable(senders);
  }

  /** @returns whether there is more to be shown. */
  take(news: RunNews): boolean {
    switch (news.type) {
      case "records":
        this.#table.take(news);
        return false;
      case "events":
        this.#takeEvents(news);
        return this.#current !== undefined;
      case "recording":
        this.#current = news;
        return true;
      case "measured":
        this.#measured = [...this.#measured, news.result];
        this.#current = undefined;
        return true;
      default:
        return false;
    }
  }

  /** The report that would be written if the run ended now. */
  html(): string {
    const { seed } = this.#about;
    const remedies = [...this.#measured];
    if (this.#current) {
      const { recording, description } = this.#current;
      const records = recording.records.length > 0 ? recording.records : this.#table.records;
      const { countedFrom } = recording;
      const scheduled = records.filter(({ intended }) => intended >= countedFrom).length;
      const result = account({ ...recording, records, scheduled }, { description, seed });
      remedies.push({ ...result, interrupted: goesOn });
    }
    const results: Results = buildResults({ ...this.#about, remedies });
    const conclusion = "The run still goes on: nothing is concluded yet.";
    return htmlReport(results, { title: "remedy", notes: [], conclusion });
  }

  #takeEvents({ remedy, begins, podEvents, senderEvents, countedFrom, now }: Events): void {
    if (begins) {
      this.#table = new ReadTable(this.#senders);
      this.#podEvents = [];
      this.#senderEvents = [];
    }
    this.#podEvents.push(...podEvents);
    this.#senderEvents.push(...senderEvents);
    if (countedFrom === undefined) return;
    this.#current = {
      description: remedy.description,
      recording: {
        remedy: remedy.remedy,
        records: [],
        podEvents: this.#podEvents,
        senderEvents: this.#senderEvents,
        countedFrom,
        scheduled: 0,
        ended: now,
      },
    };
  }
}
