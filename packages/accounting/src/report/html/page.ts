import type { RemedyResult, Results } from "../../model/results.ts";
import { advice } from "../advice.ts";
import { lostOf, perTerminationOf, secondsOf, short, titleOf } from "../figures.ts";
import { count, whole } from "../../words.ts";
import { reservations } from "../reservations.ts";
import { heldAgainstPods, lossless, verdictOf } from "../verdict.ts";
import type { Wording } from "../explanations.ts";
import { lossAgainstHold } from "./loss-against-hold.ts";
import { element, escape, paragraph, pictured, table } from "../markup.ts";
import { remedySection } from "./remedy-section.ts";
import { few } from "../../statistics.ts";
import { htmlPage } from "./html-page.ts";

/** A sum over remedies would say nothing of any of them. */
function headingOf(remedies: readonly RemedyResult[], ofOne: string): string {
  const tested = remedies.filter((one) => one.skipped === undefined);
  if (tested.length < 2) return ofOne;
  const good = lossless(tested);
  return good.length === 0
    ? `Each of ${remediesOf(tested)} lost requests or was not tested`
    : `${whole(good.length)} of ${remediesOf(tested)} lost nothing within the grace period: ${good.map(titleOf).join(", ")}`;
}

const remediesOf = ({ length }: readonly RemedyResult[]): string => count(length, "remedy", "remedies");

function ranOn({ command, machine, node }: NonNullable<Results["ranOn"]>): string {
  return element(
    "p",
    { class: "soft" },
    element("code", {}, escape(command)),
    escape(` on ${machine}, Node ${node}`),
  );
}

/** The report as one file: no script, no network, nothing beside it. */
export function htmlReport(results: Results, instead?: Wording): string {
  const { remedies } = results;
  const terminations = remedies.reduce((sum, one) => sum + one.terminations, 0);
  const lost = remedies.reduce((sum, one) => sum + heldAgainstPods(one).lost, 0);
  const heading = headingOf(
    remedies,
    `${count(lost, "request")} lost in ${count(terminations, "termination")}`,
  );
  const rows = instead ? remedies.map(({ remedy }) => remedy).join(", ") : remediesOf(remedies);
  return htmlPage(heading, [
    element("h1", {}, escape(heading)),
    paragraph(
      `${rows}, measured by lameduck ${results.tool} ${results.version}, ${results.startedAt.slice(0, 16).replace("T", " ")} UTC, seed ${results.seed}`,
    ),
    ...(results.ranOn ? [ranOn(results.ranOn)] : []),
    paragraph(instead?.conclusion ?? advice(remedies), "advice"),
    summaryTable(remedies),
    ...[...reservations(remedies), ...(instead?.notes ?? [])].map((one) => paragraph(one)),
    element("h2", {}, "Loss against hold"),
    paragraph(
      "Below is better, left is better. A hold that ends before the last sender stops sending loses requests; one that ends later wastes time.",
    ),
    pictured(lossAgainstHold(remedies)),
    legend,
    ...remedies.map(remedySection),
    element("h2", {}, "Settings"),
    settings(results.settings),
  ]);
}

export const legend = element(
  "div",
  {},
  element("h2", {}, "Termination by termination"),
  paragraph(
    "The first row is the pod, as the kubelet ends it; below it each sender, as long as it may still choose the pod. Requests are lost where the rows race. A dot stands at the time at which the sender chose the pod in vain (C1, C2, C7, C8, C9), and for other causes at the cut of the connection. All charts of a remedy have the same time scale.",
  ),
  element(
    "ul",
    { class: "legend" },
    ...(
      [
        ["pre-stop", "before SIGTERM (preStop)"],
        ["serving", "still serving after SIGTERM"],
        ["closing", "closing"],
        ["sender", "sender may still choose the pod"],
        ["raced", "the same, the pod not accepting any more"],
      ] as const
    ).map(([kind, words]) =>
      element("li", {}, element("i", { style: `background:var(--${kind})` }, ""), escape(words)),
    ),
    element("li", {}, element("i", { class: "dot", style: "background:var(--lost)" }, ""), "lost requests"),
  ),
);

function settings(values: Results["settings"]): string {
  const entries = Object.entries(values).map(
    ([name, value]) =>
      element("dt", {}, escape(name)) +
      element("dd", {}, escape(typeof value === "string" ? value : JSON.stringify(value))),
  );
  return entries.length === 0 ? paragraph("None recorded.") : element("dl", {}, ...entries);
}

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
  ["oracle, s", "p50/max: deletion until the last sender stopped sending"],
  ["killed", "Ended by SIGKILL when the grace period was over"],
  ["verdict", ""],
] as const;

function summaryTable(remedies: readonly RemedyResult[]): string {
  const head = heads.map(([name]) => {
    const kind = name === "verdict" ? "text" : undefined;
    return element("th", { scope: "col", class: kind }, escape(name));
  });
  const meanings = heads
    .filter(([, meaning]) => meaning !== "")
    .map(([name, meaning]) => element("dt", {}, escape(name)) + element("dd", {}, escape(meaning)));
  return (
    table("All remedies", head, remedies.map(row), element("caption", {}, "A row per remedy.")) +
    element(
      "details",
      { class: "meanings" },
      element("summary", {}, "What the columns mean"),
      element("dl", {}, ...meanings),
    )
  );
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
