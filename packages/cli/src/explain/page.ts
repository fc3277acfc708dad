import { dashOf, sampleOf } from "@lameduck/accounting";
import { htmlPage } from "@lameduck/accounting/html-page";
import { element, escape } from "@lameduck/accounting/markup";
import { timelineText } from "@lameduck/drain";
import {
  senderTimelines,
  origin,
  reservations,
  seconds,
  silent,
  type SenderTimeline,
  type Explained,
} from "./explained.ts";
import { colours, lossOverTime } from "./picture.ts";

/** One file without script: the line, the picture and the senders. */
export function explanationPage(explained: Explained): string {
  const { trace, replayed } = explained;
  const timelines = senderTimelines(explained, colours.length);
  const heading = `Held ${seconds(replayed.length)} s, ${trace.end?.reason ?? "no end"}`;
  return htmlPage(heading, [
    element("h1", {}, escape(heading)),
    element("p", { class: "soft" }, escape(origin(explained))),
    element("p", { class: "advice" }, escape(timelineText(replayed.timeline))),
    ...reservations(explained).map((one) => element("p", { class: "soft" }, escape(one))),
    element("h2", {}, "Expected loss over time"),
    element(
      "p",
      { class: "soft" },
      "Requests that stopping at that moment was expected to lose, in all and by sender; below, each sender's arrivals: new connections, and shorter the requests on older ones. The hold ends when the thick line is below the budget and everything else is quiet.",
    ),
    lossOverTime(explained, timelines),
    element("h2", {}, "Senders"),
    element("div", { class: "scroll" }, table(timelines)),
  ]);
}

function table(timelines: readonly SenderTimeline[]): string {
  const head = [
    "sender",
    "before",
    "arrivals in the hold",
    "last connection",
    "silent at the end",
    "expected at the end",
  ];
  return element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head.map((title) => element("th", {}, title)))),
    element("tbody", {}, ...timelines.map((timeline, index) => row(timeline, index))),
  );
}

function row({ name, perSecond, arrivals, silence, losses }: SenderTimeline, index: number): string {
  const last = arrivals.findLast(({ isConnection }) => isConnection)?.at;
  const cells = [
    `${Number(perSecond.toPrecision(2))}/s`,
    String(arrivals.length),
    last === undefined ? "before SIGTERM" : `${seconds(last)} s`,
    silent(silence),
    String(Number((losses.at(-1) ?? 0).toPrecision(2))),
  ];
  return element(
    "tr",
    {},
    element("td", {}, sampleOf(colours[index]!, dashOf(index + 1)) + escape(name)),
    ...cells.map((cell) => element("td", {}, escape(cell))),
  );
}
