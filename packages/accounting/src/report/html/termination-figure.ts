import { podLives } from "../../evidence/pod-life.ts";
import { senderHistories } from "../../evidence/sender-history.ts";
import type { TerminationResult } from "../../model/results.ts";
import type { PodEvent, SenderEvent } from "../../model/timeline.ts";
import { element, escape, figure } from "./markup.ts";
import { terminationPicture } from "./termination-picture.ts";

/** One termination that was watched without a load of ours, so that nobody knows what was lost. */
export interface ObservedTermination {
  readonly result: TerminationResult;
  readonly pods: readonly PodEvent[];
  readonly senders: readonly SenderEvent[];
  readonly caption: string;
}

/** Both chains of it, as a run of the lab shows them. */
export function terminationFigure({ result, pods, senders, caption }: ObservedTermination): string {
  const life = podLives(pods).find((one) => one.pod === result.pod);
  if (!life) return "";
  const histories = [...senderHistories(senders).values()];
  const words = element("b", {}, escape(result.pod));
  const picture = terminationPicture({ result, life, senders: histories, lost: undefined });
  return figure(`${words}: ${escape(caption)}`, picture);
}
