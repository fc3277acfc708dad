import { account, skippedRemedy, type RemedyResult, type RunRecording } from "@lameduck/accounting";
import { openNetwork } from "../network/enter.ts";
import { PodNames } from "../pod-names.ts";
import type { Network } from "../network/network.ts";
import type { Adjustment } from "./remedies.ts";
import { messageOf } from "@lameduck/drain/common";
import { runRemedy } from "./run-remedy.ts";
import type { LabProgress, LabSettings } from "./settings.ts";

export interface LabHooks {
  /** Once, before the first pod: what lies between senders and pods on this machine. */
  readonly onNetwork?: (network: Pick<Network, "kind" | "because" | "files" | "limits">) => void;
  readonly onProgress?: (progress: LabProgress) => void;
  /** Something worth a line that stays. */
  readonly onNote?: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Rolls the workload under each remedy in turn and yields what was lost and why, so that an abort keeps what is done: that of the
 * remedy under way comes last, and says so.
 * Must run where `enterStage` has put it, or on the shared loopback.
 */
export async function* runLab(settings: LabSettings, hooks: LabHooks): AsyncGenerator<RemedyResult> {
  const network = await openNetwork();
  try {
    hooks.onNetwork?.(network);
    const names = new PodNames();
    for (const remedy of settings.remedies) {
      const adjustment = remedy.adjust(settings.app);
      if ("unavailable" in adjustment) {
        yield skippedRemedy(remedy.name, remedy.description, adjustment.unavailable);
        continue;
      }
      const { recording, failure } = await runRemedy({
        settings,
        remedy,
        adjustment,
        network,
        names,
        onProgress: hooks.onProgress ?? (() => undefined),
        onNote: hooks.onNote ?? (() => undefined),
        signal: hooks.signal,
      });
      const result = account(recording, { description: remedy.description, seed: settings.seed });
      yield {
        ...result,
        ...(bringsLameduck(recording, adjustment) ? { ownLameduck: true } : {}),
        ...(failure === undefined ? {} : { interrupted: messageOf(failure) }),
      };
      if (failure !== undefined) throw failure;
    }
  } finally {
    await network.close();
  }
}

/** Only Lameduck writes lines that report its phases. A remedy of Lameduck's sets its policy. */
function bringsLameduck({ podEvents }: RunRecording, { env }: Adjustment): boolean {
  return env?.["LAMEDUCK_POLICY"] === undefined && podEvents.some(({ type }) => type === "phase");
}
