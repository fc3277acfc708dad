import type { RemedyResult } from "../../model/results.ts";
import { few } from "../../statistics.ts";
import { lostOf, perTerminationOf, secondsOf, short, titleOf, whole } from "../figures.ts";
import { verdictOf } from "../verdict.ts";
import { element, escape, table } from "./markup.ts";

const heads = [
  ["remedy", "What was done with each pod"],
  ["pods", "Terminations"],
  ["sent", "Requests sent after the warm-up"],
  ["lost", "On new + on pooled connections"],
  [
    "lost per pod",
    `Mean and 95 % interval per termination; of fewer than ${few} mean and (least..most); after 0, the greatest share of terminations that may lose anything`,
  ],
  ["W_eff, s", "Lost requests divided by the request rate through the terminated pods"],
  ["slow", "Answered more than 1 s late"],
  ["hold, s", "p50/p90/max: deletion until the pod stopped accepting"],
  ["oracle, s", "p50/max: deletion until the last sender had converged"],
  ["killed", "Ended by SIGKILL when the grace period was over"],
  ["verdict", ""],
] as const;

export function summaryTable(remedies: readonly RemedyResult[]): string {
  const head = heads.map(([name, meaning]) => {
    const kind = name === "verdict" ? "text" : undefined;
    return element("th", { scope: "col", title: meaning || undefined, class: kind }, escape(name));
  });
  const caption = "A row per remedy. Headings explain themselves when pointed at.";
  return table("All remedies", head, remedies.map(row), element("caption", {}, caption));
}

function row(result: RemedyResult, index: number): string {
  const verdict = verdictOf(result);
  const title = escape(titleOf(result));
  const link = verdict === "skipped" ? title : element("a", { href: `#remedy-${index}` }, title);
  const name = element("th", { scope: "row", title: result.description }, link);
  const last = element("td", { class: `text verdict ${verdict.replace(" ", "-")}` }, verdict);
  if (result.skipped !== undefined) {
    const why = element("td", { class: "text", colspan: heads.length - 2 }, escape(result.skipped));
    return element("tr", {}, name, why, last);
  }
  const cells = [
    whole(result.terminations),
    whole(result.sent),
    lostOf(result),
    perTerminationOf(result),
    short(result.weff),
    whole(result.slow),
    secondsOf(result.hold, "p50", "p90", "max"),
    secondsOf(result.oracle, "p50", "max"),
    whole(result.killed),
  ];
  return element("tr", {}, name, ...cells.map((cell) => element("td", {}, escape(cell))), last);
}
