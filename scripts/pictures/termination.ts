import { readFileSync, writeFileSync } from "node:fs";
import { bar, path, text, width, type Picture } from "./drawing.ts";
import { linear } from "../../packages/accounting/src/report/html/scale.ts";
import type { Results } from "../../packages/accounting/src/index.ts";

/** What is kept of a run of the lab: one termination without Lameduck, and one with it. Milliseconds after the deletion. */
export interface Recording {
  readonly command: string;
  readonly startedAt: string;
  readonly machine: string;
  readonly terminations: readonly Termination[];
}

interface Termination {
  readonly remedy: string;
  readonly pod: string;
  readonly grace: number;
  /** Until the pod stopped accepting. */
  readonly hold: number;
  readonly lost: number;
  /** When each sender stopped sending to the pod. */
  readonly senders: Readonly<Record<string, number>>;
}

const recordingFile = new URL("termination.json", import.meta.url);

export function readRecording(): Recording {
  return JSON.parse(readFileSync(recordingFile, "utf8")) as Recording;
}

export function writeRecording(recording: Recording): void {
  writeFileSync(recordingFile, `${JSON.stringify(recording, undefined, 2)}\n`);
}

/** Takes from the results of `lameduck lab --json` the termination of each remedy whose senders took longest. */
export function recordingOf(results: Results): Recording {
  return {
    command: results.ranOn?.command ?? "",
    startedAt: results.startedAt,
    machine: results.ranOn?.machine ?? "",
    terminations: results.remedies.map(({ remedy, each, timeline }) => {
      const [slowest] = each.toSorted((a, b) => (b.oracle ?? 0) - (a.oracle ?? 0));
      if (!slowest) throw new Error(`${remedy}: no pod was terminated`);
      const { pod, grace, hold, lost, deletedAt } = slowest;
      const stops = (timeline?.senders ?? [])
        .filter((event) => event.type === "converged" && event.pod === pod && event.at >= deletedAt)
        .map(({ sender, at }) => [sender, Math.round(at - deletedAt)] as const);
      return {
        remedy,
        pod,
        grace,
        hold: Math.round(hold),
        lost,
        senders: Object.fromEntries(stops.toSorted(([, a], [, b]) => a - b)),
      };
    }),
  };
}

const left = 124;
const row = 21;
const thick = 13;
const seconds = (milliseconds: number): string =>
  milliseconds < 1000 ? `${milliseconds} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
const nameOf = (sender: string): string =>
  sender.replace(/^node-/, "kube-proxy ").replace(/^ingress-\d+$/, "ingress");

/** Both chains of a pod's end on one time axis, without Lameduck and with it. */
export function termination({ terminations }: Recording): Picture {
  const [without, with_] = ["nothing", "adaptive"].map((name) =>
    terminations.find(({ remedy }) => remedy === name),
  );
  if (!without || !with_) throw new Error(`${recordingFile.pathname} has not both terminations`);
  const longest = Math.max(...[without, with_].flatMap((one) => [one.hold, ...Object.values(one.senders)]));
  const x = linear([0, Math.ceil(longest / 1000) * 1000], [left, 398], 8);
  const kill = 458;
  const first = chains(without, `It closes at SIGTERM: ${without.lost} requests lost`, 26);
  const second = chains(with_, `It holds, with Lameduck: ${with_.lost || "none"} lost`, first.bottom + 34);
  const axis = second.bottom + 18;
  const height = axis + 96;
  return {
    title: "Both chains of a pod's end on one time axis",
    description:
      `One recorded termination of the lab without Lameduck, and one with it. Without: the pod stops accepting ${seconds(without.hold)} after its deletion, ` +
      `while its senders still send for up to ${seconds(Math.max(...Object.values(without.senders)))}, and ${without.lost} requests are lost. ` +
      `With Lameduck: the pod holds for ${seconds(with_.hold)}, longer than its slowest sender, which stops after ` +
      `${seconds(Math.max(...Object.values(with_.senders)))}, and ${with_.lost || "no"} requests are lost. The grace period ends at ${with_.grace / 1000} s.`,
    height,
    parts: [
      ...first.parts,
      ...second.parts,
      ...x.ticks.map((tick) => text(x(tick), axis, String(tick / 1000), "soft", "middle")),
      text(kill, axis, String(with_.grace / 1000), "soft", "middle"),
      text(width - 6, axis + 20, "grace ends", "soft", "end"),
      text(left, axis + 20, "seconds after the deletion", "soft"),
      bar(12, axis + 34, 22, thick, "accepts"),
      text(40, axis + 45, "the pod accepts"),
      bar(190, axis + 34, 22, thick, "sends"),
      text(218, axis + 45, "a sender still chooses the pod"),
      bar(12, axis + 56, 22, thick, "stripes"),
      text(40, axis + 67, "it chooses a pod that accepts no more: requests are lost"),
    ],
  };

  function chains(one: Termination, heading: string, top: number): { parts: string[]; bottom: number } {
    const senders = Object.entries(one.senders);
    const at = (index: number): number => top + 34 + index * row + (index < 2 ? 0 : 5);
    const named = (index: number, words: string): string =>
      text(left - 8, at(index) + 11, words, "ink", "end");
    const bottom = at(senders.length + 3);
    const stop = x(one.hold);
    const isLong = stop > left + 60;
    return {
      bottom,
      parts: [
        ...[at(0), at(2)].map((from, index) =>
          x.ticks.map((tick) => path(`M${x(tick)} ${from}V${index === 0 ? at(1) : bottom}`, "grid")).join(""),
        ),
        text(12, top, heading, "ink name"),
        text(12, top + 23, "kubelet", "soft"),
        text(left, top + 23, isLong ? "SIGTERM" : `SIGTERM, stop after ${seconds(one.hold)}`, "soft"),
        isLong ? text(stop, top + 23, "stop", "soft", "middle") : "",
        text(width - 6, top + 23, "SIGKILL", "soft", "end"),
        ...[kill, stop].map((place) =>
          path(`M${place} ${at(0) - 3}V${at(1)}M${place} ${at(2) - 3}V${bottom}`, "line", "dashed"),
        ),
        named(0, "the pod"),
        bar(left, at(0), stop - left, thick, "accepts"),
        isLong ? text((left + stop) / 2, at(0) + 11, `hold, ${seconds(one.hold)}`, "ink", "middle") : "",
        text(12, at(1) + 13, "network", "soft"),
        text(left, at(1) + 13, "each sender learns of it by itself", "soft"),
        named(2, "EndpointSlice"),
        path(`M${left} ${at(2)}v${thick}`, "line"),
        text(left + 5, at(2) + 11, "withdrawn", "soft"),
        ...senders.flatMap(([sender, until], index) => {
          const safe = Math.min(x(until), stop);
          return [
            named(index + 3, nameOf(sender)),
            bar(left, at(index + 3), safe - left, thick, "sends"),
            x(until) > safe ? bar(safe, at(index + 3), x(until) - safe, thick, "stripes") : "",
            text(x(until) + 5, at(index + 3) + 11, seconds(until), "soft"),
          ];
        }),
        // The axis is broken between the longest of these times and the end of the grace period.
        path(`M424 ${bottom - 4}l4 -8M430 ${bottom - 4}l4 -8`, "line"),
      ],
    };
  }
}
