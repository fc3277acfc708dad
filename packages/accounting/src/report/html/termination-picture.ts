import { spell, whole } from "../../words.ts";
import { type PodLife, podLives } from "../../evidence/pod-life.ts";
import { type SenderHistory, convergedFrom, senderHistories } from "../../evidence/sender-history.ts";
import type { Cause } from "../../model/cause.ts";
import type { LostRequest, TerminationResult } from "../../model/results.ts";
import { type Moment, kubeletBars, kubeletMoments } from "./kubelet-chain.ts";
import { element, escape, figure, label, title, widthOf } from "../markup.ts";
import { type Scale, linear } from "./scale.ts";
import type { PodEvent, SenderEvent } from "../../model/timeline.ts";

export interface PicturedTermination {
  readonly result: TerminationResult;
  readonly life: PodLife;
  readonly senders: readonly SenderHistory[];
  /** Requests that were lost. Undefined where nobody counted requests. */
  readonly lost: readonly LostRequest[] | undefined;
  /** Milliseconds that the time axis has at least, so that several pictures have the same. */
  readonly atLeast?: number;
}

const width = 960;
const left = 96;
const right = 20;
const row = 26;
const bar = 14;
const lane = 15;

/** Both chains of one termination on one time axis: the kubelet's, each sender's, and the requests lost between them. */
export function terminationPicture(pictured: PicturedTermination): string {
  const { result, life, senders, lost: counted } = pictured;
  const lost = counted ?? [];
  const origin = result.deletedAt;
  const moments = kubeletMoments(life, origin);
  const chains = senders.filter((sender) => sender.choices.has(life.pod));
  const strangers = lost.filter((one) => !chains.some((sender) => sender.sender === one.sender));
  const others = [...new Set(strangers.map((one) => one.sender))];
  const extent = Math.max(extentOf(pictured), pictured.atLeast ?? 0);
  const x = linear([-0.04 * extent, extent * 1.02], [left, width - right]);
  const { marks, lanes } = momentLabels(moments, x);
  const top = lanes * lane + 12;
  const rows = 1 + chains.length + others.length;
  const bottom = top + rows * row;
  const accepting = moments.find((moment) => moment.stops)?.at;
  return element(
    "svg",
    { viewBox: `0 0 ${width} ${bottom + 40}`, role: "img", "aria-label": inWords() },
    axis(x, top, bottom),
    ...marks,
    ...moments.map(({ at, kind, words }) =>
      element(
        "line",
        { x1: x(at), x2: x(at), y1: top - 4, y2: bottom, class: `moment ${kind}` },
        title(`${words}: ${spell(at)} after the deletion`),
      ),
    ),
    rowLabel(0, life.pod),
    ...kubeletBars(life, origin).map(({ from, to, kind, words }) =>
      block(0, from, to, `bar ${kind}`, `${words}: ${spell(from)} to ${spell(to)} after the deletion`),
    ),
    ...chains.flatMap((sender, i) => [rowLabel(i + 1, sender.sender), senderBar(sender, i + 1)]),
    ...others.map((sender, i) => rowLabel(i + 1 + chains.length, sender)),
    ...[...chains.map((sender) => sender.sender), ...others].flatMap((sender, i) =>
      lossMarks(
        lost.filter((one) => one.sender === sender),
        i + 1,
      ),
    ),
  );

  function inWords(): string {
    const oracle =
      result.oracle === undefined
        ? "a sender never stopped sending"
        : `last sender stopped sending after ${spell(result.oracle)}`;
    return `${life.pod}: held ${spell(result.hold)}, ended by ${result.stopReason}; ${oracle}; ${counted ? `${lost.length} lost` : "losses not counted"}.`;
  }

  function middle(index: number): number {
    return top + index * row + row / 2;
  }

  function rowLabel(index: number, text: string): string {
    const shown = text.length > 13 ? `${text.slice(0, 12)}…` : text;
    return label(left - 10, middle(index) + 4, shown, {
      "text-anchor": "end",
      class: index === 0 ? "name" : undefined,
    });
  }

  function block(index: number, from: number, to: number, kind: string, words: string): string {
    return element(
      "rect",
      {
        x: x(from),
        y: middle(index) - bar / 2,
        width: Math.max(1, x(to) - x(from)),
        height: bar,
        rx: 2,
        class: kind,
      },
      title(words),
    );
  }

  /** A sender's bar: the time in which the sender may choose the pod. The part after the pod has stopped accepting is a race lost. */
  function senderBar(sender: SenderHistory, index: number): string {
    const converged = convergedFrom(sender, life);
    const to = converged === undefined ? extent : converged - origin;
    const words =
      converged === undefined
        ? `${sender.sender} never stopped sending`
        : `${sender.sender} could still choose ${life.pod} for ${spell(to)} after the deletion`;
    const safe = Math.min(to, accepting ?? to);
    const raced =
      to > safe ? block(index, safe, to, "bar raced", `${words}, ${spell(to - safe)} of it in vain`) : "";
    return block(index, 0, safe, "bar sender", words) + raced;
  }

  /** Draws the losses. Losses that share a few pixels share a mark with their number, because a black hole can lose thousands. */
  function lossMarks(own: readonly LostRequest[], index: number): string[] {
    const groups = Map.groupBy(own, (one) => Math.round(x(raceAt(one) - origin) / 4));
    return [...groups.values()].map((group) => {
      const { cause, sentence } = group[0]!;
      const at = raceAt(group[0]!);
      const many = group.length > 1 ? `${whole(group.length)} lost here, the first: ` : "";
      const size = Math.min(9, 3 + Math.log2(group.length));
      return element(
        "circle",
        // What was chosen before the deletion stands at its edge, not on the names.
        { cx: Math.max(left + size, x(at - origin)), cy: middle(index), r: size, class: "lost" },
        title(`${many}${cause} ${sentence}`),
      );
    });
  }
}

/** Milliseconds that a picture of this termination needs. */
export function extentOf({ result, lost = [] }: Pick<PicturedTermination, "result" | "lost">): number {
  const last = lost.reduce((most, one) => Math.max(most, raceAt(one) - result.deletedAt), 0);
  return Math.max(500, result.total, result.oracle ?? 0, last);
}

/**
 * The time at which the race was lost. For some causes that is the sender's choice of the pod, which a caller may notice many seconds later. For
 * the other causes it is the cut of the connection.
 */
function raceAt({ at, waited, cause }: LostRequest): number {
  return chosenWrongly.has(cause) ? at - waited : at;
}

const chosenWrongly: ReadonlySet<Cause> = new Set<Cause>(["C1", "C2", "C7", "C8", "C9"]);

function axis(x: Scale, top: number, bottom: number): string {
  return element(
    "g",
    { class: "axis" },
    ...x.ticks.map(
      (tick) =>
        element("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom + 4, class: "grid" }) +
        label(x(tick), bottom + 18, `${tick / 1_000}`, { "text-anchor": "middle" }),
    ),
    label((left + width - right) / 2, bottom + 35, "seconds after the deletion", { "text-anchor": "middle" }),
  );
}

/** Labels above the rows, in as many lanes as it takes to keep them apart; what falls together shares one. */
function momentLabels(moments: readonly Moment[], x: Scale): { marks: string[]; lanes: number } {
  const ends: number[] = [];
  const placed = together(moments, x).map(({ at, words, kind }) => {
    const size = widthOf(words);
    const before = x(at) + size > width - 4;
    const from = before ? x(at) - size - 6 : x(at) - 3;
    const free = ends.findIndex((end) => end <= from);
    const chosen = free < 0 ? ends.length : free;
    ends[chosen] = from + size + 10;
    return { at, words, kind, from: from + 3, chosen };
  });
  const lanes = Math.max(1, ends.length);
  const marks = placed.map(({ at, words, kind, from, chosen }) => {
    const y = (chosen + 1) * lane;
    return (
      element("line", { x1: x(at), x2: x(at), y1: y + 3, y2: lanes * lane + 8, class: `moment ${kind}` }) +
      label(from, y, words, { class: `moment-label ${kind}` })
    );
  });
  return { marks, lanes };
}

function together(moments: readonly Moment[], x: Scale): Moment[] {
  const groups: Moment[] = [];
  for (const moment of moments) {
    const last = groups.at(-1);
    if (last && x(moment.at) - x(last.at) < 4)
      groups[groups.length - 1] = {
        ...last,
        words: `${last.words} · ${moment.words}`,
        kind: moment.stops && !last.stops ? moment.kind : last.kind,
      };
    else groups.push(moment);
  }
  return groups;
}

/** One termination that was watched without a load of ours, so that nobody knows what was lost. */
export interface ObservedTermination {
  readonly result: TerminationResult;
  readonly pods: readonly PodEvent[];
  readonly senders: readonly SenderEvent[];
  readonly caption: string;
}

/** Both chains of a termination, as a run of the lab shows them. */
export function terminationFigure({ result, pods, senders, caption }: ObservedTermination): string {
  const life = podLives(pods).find((one) => one.pod === result.pod);
  if (!life) return "";
  const histories = [...senderHistories(senders).values()];
  const words = element("b", {}, escape(result.pod));
  const picture = terminationPicture({ result, life, senders: histories, lost: undefined });
  return figure(`${words}: ${escape(caption)}`, picture);
}
