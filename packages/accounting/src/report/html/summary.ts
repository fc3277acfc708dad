import type { RemedyResult } from "../../model/results.ts";
import { few } from "../../statistics.ts";
import { lostOf, perTerminationOf, secondsOf, short, titleOf, whole } from "../figures.ts";
import { verdictOf } from "../verdict.ts";
import { element, escape } from "./markup.ts";

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
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": "All remedies" },
    element(
      "table",
      {},
      element("caption", {}, "A row per remedy. Headings explain themselves when pointed at."),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          ...heads.map(([head, meaning]) =>
            element(
              "th",
              { scope: "col", title: meaning || undefined, class: head === "verdict" ? "text" : undefined },
              escape(head),
            ),
          ),
        ),
      ),
      element("tbody", {}, ...remedies.map(row)),
    ),
  );
}

function row(result: RemedyResult, index: number): string {
  const verdict = verdictOf(result);
  const name = element(
    "th",
    { scope: "row", title: result.description },
    verdict === "skipped"
      ? escape(titleOf(result))
      : element("a", { href: `#remedy-${index}` }, escape(titleOf(result))),
  );
  const last = element("td", { class: `text verdict ${verdict.replace(" ", "-")}` }, verdict);
  if (result.skipped !== undefined)
    return element(
      "tr",
      {},
      name,
      element("td", { class: "text", colspan: heads.length - 2 }, escape(result.skipped)),
      last,
    );
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
