import type { LabProgress, LabSettings } from "@lameduck/stage";
import type { RecordNews } from "@lameduck/load";
import type { About } from "../live/known.ts";
import type { Told } from "../live/tell.ts";
import type { TellUi } from "../live/ui.ts";

/** What the lab tells its page: only what is new, because it is told by the process that plays the kubelet. */
export function labUi({ remedies, senders }: LabSettings, tell: TellUi) {
  let events: readonly unknown[] | undefined;
  let [pods, sent] = [0, 0];
  return {
    tell,
    begin: (about: About): void =>
      void tell({ type: "about", about, senders: senders.map(({ name }) => name) }),
    records: (news: RecordNews): void => void tell({ type: "records", ...news }),
    progress: ({ remedy, seen }: LabProgress, { stage, figures }: Pick<Told, "stage" | "figures">): void => {
      const { podEvents, senderEvents, ...rest } = seen;
      const begins = podEvents !== events;
      if (begins) [events, pods, sent] = [podEvents, 0, 0];
      const description = remedies.find(({ name }) => name === remedy)?.description ?? "";
      void tell({ type: "state", line: `${stage}: ${figures}` });
      void tell({
        type: "events",
        remedy: { remedy, description },
        begins,
        podEvents: podEvents.slice(pods),
        senderEvents: senderEvents.slice(sent),
        ...rest,
      });
      [pods, sent] = [podEvents.length, senderEvents.length];
    },
  };
}
