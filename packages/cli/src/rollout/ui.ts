import type { Action, RolloutProgress } from "@lameduck/rollout";
import type { About } from "../live/known.ts";
import type { Told } from "../live/tell.ts";
import type { TellUi } from "../live/ui.ts";

const periodMs = 1_000;
/** Of this process's time. It notes when changes of pods arrive. */
const share = 1 / 50;

/** What a rollout tells its page: all that it has seen, as often as that costs next to nothing. */
export function rolloutUi(
  tell: TellUi,
  about: About,
  { summary: description }: Action,
): (state: RolloutProgress, words: Pick<Told, "stage" | "figures">) => void {
  let earliest = 0;
  void tell({ type: "about", about, senders: [] });
  return ({ recording: seen }, { stage, figures }) => {
    void tell({ type: "state", line: `${stage}: ${figures}` });
    const began = performance.now();
    if (began < earliest) return;
    const recording = seen();
    if (recording) void tell({ type: "recording", recording, description });
    const now = performance.now();
    earliest = now + Math.max(periodMs, (now - began) / share);
  };
}
