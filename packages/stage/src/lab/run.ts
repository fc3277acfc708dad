import { account, skippedRemedy, type RemedyResult, type RunRecording } from "@lameduck/accounting";
import { openNetwork } from "../enter.ts";
import { PodNames } from "../pod-names.ts";
import type { Network } from "../network/network.ts";
import type { Adjustment } from "./remedies.ts";
import type { RecordNews } from "@lameduck/load";
import { messageOf } from "@lameduck/drain/common";
import { runRemedy } from "./run-remedy.ts";
import type { LabProgress, LabSettings } from "./settings.ts";

export interface LabHooks {
  /** Once, before the first pod: what lies between senders and pods on this machine. */
  readonly onNetwork?: (network: Pick<Network, "kind" | "because" | "files" | "limits">) => void;
  readonly onProgress?: (progress: LabProgress) => void;
  /** Something worth a line that stays. */
  readonly onNote?: (line: string) => void;
  /** Of the remedy under way, some seconds after the requests. What proxies log of them comes only in the end. */
  readonly onRecords?: (news: RecordNews) => void;
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
    // The library says so in lines of its own. The init's lines are text, so its command says it.
    let isShippedWithIt = settings.app.ownInit ?? false;
    for (const remedy of settings.remedies) {
      const adjustment = remedy.adjust(settings.app);
      if (isShippedWithIt && !settings.asked && "env" in adjustment && adjustment.env?.["LAMEDUCK_POLICY"]) {
        hooks.onNote?.(`${remedy.name} is left out: the program brings Lameduck itself, and runs as shipped`);
        continue;
      }
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
        // The same for each remedy, but for chance.
        onNote: (line) => {
          if (remedy === settings.remedies[0]) hooks.onNote?.(line);
        },
        onRecords: hooks.onRecords,
        signal: hooks.signal,
      });
      const result = account(recording, { description: remedy.description, seed: settings.seed });
      const own = ownership(recording, adjustment, isShippedWithIt);
      isShippedWithIt ||= own.ownLameduck ?? false;
      yield {
        ...result,
        ...own,
        ...(failure === undefined ? {} : { interrupted: messageOf(failure) }),
      };
      if (failure !== undefined) throw failure;
    }
  } finally {
    await network.close();
  }
}

/** Whose Lameduck decided. Only Lameduck writes lines that report its phases; a remedy of Lameduck's sets its policy. */
function ownership(
  { podEvents }: RunRecording,
  { env }: Adjustment,
  known: boolean,
): Pick<RemedyResult, "ownLameduck" | "ownPolicy"> {
  const asked = env?.["LAMEDUCK_POLICY"];
  const phases = podEvents.filter((event) => event.type === "phase");
  const ran = phases.find(({ detail }) => typeof detail?.["policy"] === "string")?.detail?.["policy"];
  const ownPolicy = asked !== undefined && typeof ran === "string" && ran !== asked ? ran : undefined;
  const isOwn = known || (phases.length > 0 && (asked === undefined || ownPolicy !== undefined));
  return {
    ...(isOwn ? { ownLameduck: true } : {}),
    ...(ownPolicy === undefined ? {} : { ownPolicy }),
  };
}
