import {
  type ObservedTermination,
  type PodEvent,
  type SenderEvent,
  count,
  legend,
  terminationFigure,
} from "@lameduck/accounting";
import { htmlPage } from "@lameduck/accounting/html-page";
import { element, escape } from "@lameduck/accounting/markup";
import type { DrainReport } from "@lameduck/coordinator";
import { figuresOf } from "./figures.ts";
import { type Asked, overviewText } from "./text.ts";

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

/** A report as the events that a lab would have recorded; the deletion is the origin. */
function observed(report: DrainReport): ObservedTermination {
  const { pod, graceSeconds, moments, summary, killed, unknown } = report;
  const end = moments.exited ?? moments.gone ?? moments.closed ?? moments.closing ?? 0;
  return {
    pods: podEvents(report),
    senders: senderEvents(report),
    caption: [
      summary.text.slice(summary.text.indexOf("; ") + 2),
      ...unknown.map((one) => `unknown: ${one}`),
    ].join(" · "),
    result: {
      pod: pod.name,
      deletedAt: 0,
      total: end,
      hold: moments.closing ?? end,
      stopReason: summary.reason,
      grace: graceSeconds * 1_000,
      ...(moments.released === undefined ? {} : { oracle: moments.released }),
      lost: 0,
      lostByCause: {},
      killed: killed === "yes",
      untested: "nobody counted requests",
    },
  };
}

function podEvents(report: DrainReport): PodEvent[] {
  const { pod, graceSeconds, moments, program, summary, containers, killed } = report;
  const events: PodEvent[] = [];
  const add = (at: number | undefined, event: Events): void => {
    if (at !== undefined) events.push({ ...event, at, pod: pod.name });
  };
  add(0, { type: "deleted", grace: graceSeconds * 1_000, why: "deleted" });
  // What a library or PID 1 does first at SIGTERM; the hook does it before that.
  if (program === "wait") add(moments.lameDuck, { type: "pre-stop-begun", container: "" });
  else add(moments.lameDuck, { type: "signalled", container: "", signal: "SIGTERM" });
  add(moments.lameDuck, { type: "phase", phase: "lame-duck" });
  add(moments.closing, { type: "phase", phase: "closing", ...reasonOf(summary.reason) });
  for (const { name, exitCode, exitedMs } of containers) {
    if (killed === "yes" && exitCode === 137) add(exitedMs, { type: "killed", container: name });
    add(exitedMs, { type: "exited", container: name, code: exitCode });
  }
  add(moments.gone, { type: "gone" });
  return events;
}

type Events = PodEvent extends infer Event
  ? Event extends PodEvent
    ? Omit<Event, "at" | "pod">
    : never
  : never;

function reasonOf(reason: string): object {
  return reason === "unknown" ? {} : { reason };
}

function senderEvents({ pod, consumers }: DrainReport): SenderEvent[] {
  return consumers.flatMap(({ name, state, appliedMs }): SenderEvent[] => {
    // Nothing is known of one that never reported.
    if (state === "missing") return [];
    const added: SenderEvent = { type: "added", at: -1, sender: name, pod: pod.name };
    return appliedMs === undefined
      ? [added]
      : [added, { type: "converged", at: appliedMs, sender: name, pod: pod.name }];
  });
}
