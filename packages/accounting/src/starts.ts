import { withoutUndefined } from "@lameduck/drain/common";
import type { RunRecording } from "./model/document.ts";
import type { LostRequest, NewPod, Start } from "./model/results.ts";
import type { RequestRecord } from "./model/request.ts";
import type { Attribution } from "./attribution.ts";
import { failedAt } from "./evidence/evidence.ts";
import type { PodLife } from "./evidence/pod-life.ts";
import { quantiles } from "./statistics.ts";

/** The pods that came after the warm-up, and when each route had its first answer of them. */
export function newPods(recording: RunRecording, { lives, recordsOf }: Attribution): NewPod[] {
  const { records, countedFrom, ended, waiting } = recording;
  const senders = new Set(records.map(({ sender }) => sender));
  // Without an answer that names a pod nobody can say which pod has answered.
  const naming = new Set(records.flatMap((one) => (isKnownAnswer(one) ? one.sender : [])));
  return lives
    .filter((life) =>
      life.ready === undefined
        ? life.began >= countedFrom || (isThere(life) && waiting?.has(life.pod))
        : life.ready >= countedFrom && life.ready <= ended,
    )
    .map((life): NewPod => {
      const first = firstAnswers(recordsOf.get(life) ?? []);
      const after = (sender: string): NewPod["firstAnswer"][string] => {
        if (!naming.has(sender)) return "unknown";
        const at = first.get(sender);
        // An answer from before it was Ready is no wait: it was published already, or its news came late.
        return at === undefined ? "none" : Math.max(0, at - (life.ready ?? at));
      };
      return withoutUndefined({
        pod: life.pod,
        createdAt: life.began,
        readyAt: life.ready,
        waitsFor: life.ready === undefined && isThere(life) ? waiting?.get(life.pod) : undefined,
        firstAnswer: Object.fromEntries([...senders].map((sender) => [sender, after(sender)])),
      });
    });
}

/** A name may come again. */
function isThere({ deleted, until }: PodLife): boolean {
  return deleted === undefined && until === Infinity;
}

function isKnownAnswer({ outcome, pod }: RequestRecord): boolean {
  return outcome === "ok" && pod !== undefined;
}

function firstAnswers(records: readonly RequestRecord[]): ReadonlyMap<string, number> {
  const first = new Map<string, number>();
  for (const record of records) {
    if (!isKnownAnswer(record)) continue;
    first.set(record.sender, Math.min(failedAt(record), first.get(record.sender) ?? Infinity));
  }
  return first;
}

/** How pods began, by route. */
export function startsOf(pods: readonly NewPod[], lostRequests: readonly LostRequest[]): Start[] {
  const ready = pods.filter(({ readyAt }) => readyAt !== undefined);
  const senders = new Set(pods.flatMap(({ firstAnswer }) => Object.keys(firstAnswer)));
  return Array.from(senders, (sender): Start => {
    const of = ready.flatMap(({ firstAnswer }) => firstAnswer[sender] ?? []);
    return {
      sender,
      pods: of.length,
      firstAnswer: quantiles(of.filter((one) => typeof one === "number")),
      none: of.filter((one) => one === "none").length,
      unknown: of.filter((one) => one === "unknown").length,
      lost: lostRequests.filter((one) => one.cause === "C7" && one.sender === sender).length,
    };
  });
}
