import { count, htmlPage, legend, terminationFigure } from "@lameduck/accounting";
import { element, escape } from "@lameduck/accounting/markup";
import type { DrainReport } from "@lameduck/coordinator";
import { figuresOf } from "./figures.ts";
import { observed } from "./observed.ts";
import { overviewText, type Asked } from "./text.ts";

/** Drawn of one page at most: the latest. */
const mostPictures = 100;

/** One file without a script: the figures, and both chains of each termination. */
export function reportPage(reports: readonly DrainReport[], asked: Asked): string {
  const { terminations, killed, overruled } = figuresOf(reports);
  const heading = `${count(terminations, "termination")} in ${asked.namespace}`;
  const drawn = reports.filter(({ moments }) => moments.closing !== undefined).slice(-mostPictures);
  const others = reports.filter(({ moments }) => moments.closing === undefined);
  return htmlPage(heading, [
    element("h1", {}, escape(heading)),
    element(
      "p",
      { class: "soft" },
      escape(
        `The last ${asked.since}, as the coordinator saw and the pods reported it; ${killed} killed, ${overruled} overruled. Nobody counted lost requests here: that takes lameduck rollout.`,
      ),
    ),
    element("pre", {}, escape(overviewText(reports, asked))),
    ...(drawn.length > 0 ? [legend] : []),
    ...drawn.map((report) => terminationFigure(observed(report))),
    ...(others.length > 0
      ? [
          element("h2", {}, "Without a picture"),
          element("p", { class: "soft" }, "No container of these pods reported when it stopped accepting."),
          element("ul", {}, ...others.map(({ summary }) => element("li", {}, escape(summary.text)))),
        ]
      : []),
  ]);
}
