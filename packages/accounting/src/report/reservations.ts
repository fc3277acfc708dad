import { tally } from "../terminations.ts";
import type { RemedyResult } from "../model/results.ts";
import { count, whole } from "../words.ts";
import { seconds, titleOf } from "./figures.ts";
import { startNotes } from "./starts.ts";

/** What has to be known beside the figures of a comparison, a sentence each. */
export function reservations(remedies: readonly RemedyResult[]): string[] {
  return remedies.flatMap((one) => {
    const said: string[] = [];
    const title = titleOf(one);
    const cut = one.lostByCause.proxy ?? 0;
    if (one.interrupted !== undefined)
      said.push(`${title} was not finished: ${one.interrupted}; what came later is not counted`);
    if (one.skipped !== undefined) said.push(`${title} was skipped: ${one.skipped}`);
    if (one.ownLameduck)
      said.push(
        `${title}: the program brings Lameduck itself, which decided when its pods stopped` +
          `${one.ownPolicy === undefined ? "" : `, by its own settings (policy ${one.ownPolicy})`}.`,
      );
    if (one.untested)
      said.push(
        `${title}: ${whole(one.untested)} of ${count(one.terminations, "termination")} ${one.untested === 1 ? "is" : "are"} untested ` +
          `(${untestedBecause(one)}): nothing follows from ${one.untested === 1 ? "it" : "them"}.`,
      );
    const early = one.each.filter(({ killedEarly }) => killedEarly !== undefined);
    const [first] = early;
    if (first?.killedEarly) {
      const { after, why } = first.killedEarly;
      const reason = why === undefined ? "" : ` (${why})`;
      said.push(
        `${title}: ${whole(early.length)} of ${count(one.terminations, "termination")} ended by SIGKILL before the grace period was over, ` +
          `such as that of ${first.pod} after ${seconds(after)} s of ${seconds(first.grace)} s${reason}: the kernel for want of memory, ` +
          "a deletion without grace, or somebody on the node.",
      );
    }
    if (one.killed > 0) said.push(`${title}: ${overran(one)}`);
    said.push(...failedHooks(one).map((sentence) => `${title}: ${sentence}`), ...startNotes(one));
    if (cut > 0)
      said.push(`${title}: ${whole(cut)} more were cut by senders themselves, which no pod can prevent.`);
    const steady = one.lostByCause.C12 ?? 0;
    if (steady > 0)
      said.push(
        `${title}: ${whole(steady)} of ${count(one.sent, "request")} failed in a way that was as frequent before the first deletion (C12): ` +
          "no termination is charged with them.",
      );
    const { STALLED: stalled = 0 } = one.notSentBecause;
    if (stalled > 0)
      said.push(
        `${title}: the load generator itself stalled. ${count(stalled, "request")} that it sent late for that failed. A sender on time ` +
          "might have chosen another pod, so they count as not sent (C10). A lower --rps, or a machine with less to do, gives a clear result.",
      );
    if (one.notSent > stalled)
      said.push(
        `${title}: ${whole(one.notSent - stalled)} of ${whole(one.sent + one.notSent)} scheduled requests were not sent ` +
          `(${reasons(one)}): the load was lighter than asked for, and so may the losses be.`,
      );
    return said;
  });
}

/** How many terminations were killed when their grace period was over, and what was seen of one. */
export function overran({ killed, terminations, each }: RemedyResult): string {
  const one = each.find(({ killedBecause }) => killedBecause !== undefined);
  const grace = each.find((each) => each.killed)?.grace ?? 0;
  const which = `${whole(killed)} of ${count(terminations, "termination")} overran the grace period of ${seconds(grace)} s and ended by SIGKILL`;
  if (!one) return `${which}.`;
  return `${which}. ${one.pod}: ${one.killedBecause}.`;
}

/** Of each container whose preStop hook failed. With such a hook a pod stops as without one, and no other figure tells why. */
function failedHooks({ timeline, terminations }: RemedyResult): string[] {
  const failed = (timeline?.pods ?? []).filter(
    (event) => event.type === "pre-stop-ended" && event.result === "failed" && !cutByStop(event.detail),
  );
  return [...Map.groupBy(failed, (event) => ("container" in event ? event.container : ""))].map(
    ([container, events]) => {
      const [first] = events;
      const detail = first?.type === "pre-stop-ended" ? first.detail : undefined;
      return (
        `the preStop hook of ${container} failed in ${whole(events.length)} of ${count(terminations, "termination")}, ` +
        `and the stop signal came at once. ${first?.pod ?? ""}: ${detail ?? "no reason is known"}.`
      );
    },
  );
}

/** A hook that itself stops the program ends with it, as `--then` of lameduck-init does. */
function cutByStop(detail: string | undefined): boolean {
  return detail !== undefined && /\b137\b|exit code none|not running/.test(detail);
}

export function untestedBecause({ each }: RemedyResult): string {
  const because = tally(each.flatMap(({ untested }) => untested ?? []));
  return Object.entries(because)
    .map(([reason, times = 0]) => (Object.keys(because).length === 1 ? reason : `${whole(times)}: ${reason}`))
    .join("; ");
}

function reasons({ notSentBecause }: RemedyResult): string {
  return Object.entries(notSentBecause)
    .filter(([reason]) => reason !== "STALLED")
    .map(([reason, times]) => `${whole(times)} ${reason === "LATE" ? "too late" : reason}`)
    .join(", ");
}
