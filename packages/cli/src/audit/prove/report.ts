import { fingerprintOf, spell } from "@lameduck/audit";
import { type RemedyResult, causes } from "@lameduck/accounting";
import { printable } from "@lameduck/drain/common";
import { columns } from "../../output.ts";
import type { Proof } from "./prove.ts";

/** Side by side: what was lost as it is, and what with the fixes. */
export function proofText({ workload, skipped, notes, before, after, verdicts }: Proof): string {
  const head = `proof: ${spell(workload.object)}`;
  if (before === undefined) {
    const isNeeded = verdicts.some(({ verdict }) => verdict === "not proved");
    return `${head}: ${isNeeded ? "not proved" : "not rolled"}: ${printable(skipped ?? "")}\n`;
  }
  const results = [["as it is", before] as const, ...(after ? [["fixed", after] as const] : [])];
  const rows = [
    ["", "lost of sent", "killed", "longest hold", "why"],
    ...results.map(([name, result]) => rowOf(name, result)),
  ];
  const list = verdicts
    .toSorted((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict))
    .map(({ finding, verdict, because }) => `  ${verdict.padEnd(13)}  ${finding.rule}: ${because}`);
  return [
    head,
    ...notes.map((note) => `  ${note}`),
    ...columns(rows).map((line) => `  ${line}`),
    ...(after ? [] : ["  fixed: not rolled, because no fix is known; see what each finding says"]),
    ...pictureOf(results).map((line) => `  ${line}`),
    ...list,
    "",
  ]
    .map(printable)
    .join("\n");
}

const order = ["confirmed", "not confirmed", "not proved", "not tried"];

function rowOf(name: string, result: RemedyResult): string[] {
  const { lost, sent, killed, terminations, hold, lostByCause } = result;
  const why = Object.entries(lostByCause)
    .toSorted(([, a], [, b]) => b - a)
    .map(([cause, count]) => `${count} ${causes[cause as keyof typeof causes]} (${cause})`);
  return [
    name,
    `${lost} of ${sent}`,
    `${killed} of ${terminations}`,
    hold.count === 0 ? "-" : `${(hold.max / 1_000).toFixed(1)} s`,
    why.join(", ") || "-",
  ];
}

/** For the JSON document. Times are milliseconds. */
export function plainProof({ workload, skipped, notes, before, after, verdicts }: Proof): unknown {
  const { type, kind, namespace, name } = workload.object;
  return {
    workload: { type, kind, namespace, name },
    skipped,
    notes,
    before: before && plainResult(before),
    after: after && plainResult(after),
    verdicts: verdicts.map(({ finding, verdict, because }) => ({
      rule: finding.rule,
      container: finding.container,
      fingerprint: fingerprintOf(finding),
      verdict,
      because,
    })),
  };
}

function plainResult(result: RemedyResult): unknown {
  const { terminations, untested, sent, lost, lostByCause, killed, hold, oracle } = result;
  return { terminations, untested, sent, lost, lostByCause, killed, hold, lastSenderConverged: oracle };
}

const width = 40;

/**
 * Both chains of a termination, as it is and with the fixes. One bar is how long pods went on serving, the other how long senders
 * went on choosing them. Where the second bar is the longer one, requests were lost.
 */
export function pictureOf(
  results: readonly (readonly [name: string, result: Pick<RemedyResult, "hold" | "oracle">])[],
): string[] {
  const bars = results.flatMap(([name, { hold, oracle }]) => [
    { name, what: "pods serve", fill: "=", milliseconds: hold },
    { name: "", what: "senders choose them", fill: "-", milliseconds: oracle },
  ]);
  if (bars.some(({ milliseconds }) => milliseconds.count === 0)) return [];
  const longest = Math.max(1, ...bars.map(({ milliseconds }) => milliseconds.max));
  const nameWidth = Math.max(...bars.map(({ name }) => name.length));
  return [
    "after the deletion, the longest of all:",
    ...bars.map(({ name, what, fill, milliseconds: { max } }) => {
      const bar = fill.repeat(Math.round((max / longest) * width));
      return `${name.padEnd(nameWidth)}  ${what.padEnd(19)}  |${bar} ${(max / 1_000).toFixed(1)} s`;
    }),
  ];
}
