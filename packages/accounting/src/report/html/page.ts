import type { Results } from "../../model/results.ts";
import { advice } from "../advice.ts";
import { whole } from "../figures.ts";
import { count } from "../../words.ts";
import { reservations } from "../reservations.ts";
import { heldAgainstPods } from "../verdict.ts";
import type { Wording } from "../explanations.ts";
import { lossAgainstHold } from "./loss-against-hold.ts";
import { element, escape, htmlPage, paragraph } from "./markup.ts";
import { remedySection } from "./remedy-section.ts";
import { summaryTable } from "./summary.ts";

/** The report as one file: no script, no network, nothing beside it. */
export function htmlReport(results: Results, instead?: Wording): string {
  const { remedies } = results;
  const terminations = remedies.reduce((sum, one) => sum + one.terminations, 0);
  const lost = remedies.reduce((sum, one) => sum + heldAgainstPods(one).lost, 0);
  const heading = `${count(lost, "request")} lost in ${count(terminations, "termination")}`;
  const rows = instead
    ? remedies.map(({ remedy }) => remedy).join(", ")
    : `${whole(remedies.length)} remedies`;
  return htmlPage(heading, [
    element("h1", {}, escape(heading)),
    paragraph(
      `${rows}, measured by lameduck ${results.tool} ${results.version}, ${results.startedAt.slice(0, 16).replace("T", " ")} UTC, seed ${results.seed}`,
    ),
    paragraph(instead?.conclusion ?? advice(remedies), "advice"),
    summaryTable(remedies),
    ...[...reservations(remedies), ...(instead?.notes ?? [])].map((one) => paragraph(one)),
    element("h2", {}, "Loss against hold"),
    paragraph(
      "Below is better, left is better. A hold that ends before the last sender has converged loses requests; one that ends later wastes time.",
    ),
    lossAgainstHold(remedies),
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
    "The first row is the pod, as the kubelet ends it; below it each sender, as long as it may still choose the pod. Requests are lost where the rows race. Point at anything for its words.",
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
