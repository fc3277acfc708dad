import { count, whole } from "../../words.ts";
import { podLives } from "../../evidence/pod-life.ts";
import { senderHistories } from "../../evidence/sender-history.ts";
import type { LostRequest, RemedyResult, TerminationResult } from "../../model/results.ts";
import { seconds, testedOf, titleOf } from "../figures.ts";
import { whyOf } from "../explanations.ts";
import { element, escape, figure, paragraph, table } from "../markup.ts";
import { extentOf, terminationPicture, type PicturedTermination } from "./termination-picture.ts";

/** Pictures per remedy: enough to see the pattern; the tables have the rest. */
const pictures = { lossy: 4, lossless: 2 };
/** Sentences listed per remedy; the document has all. */
const sentences = 100;

/** Why one remedy lost what it lost: causes, pictures of the worst terminations, tables of all. */
export function remedySection(result: RemedyResult, index: number): string {
  if (result.skipped !== undefined) return "";
  return element(
    "section",
    { id: `remedy-${index}`, "aria-labelledby": `remedy-${index}-title` },
    element("h2", { id: `remedy-${index}-title` }, escape(titleOf(result))),
    paragraph(result.description),
    causeList(result),
    ...figures(result),
    terminationTable(result.each),
    sentenceTable(result.lostRequests, index),
  );
}

function causeList(result: RemedyResult): string {
  if (result.lost === 0) {
    const untested = result.untested ? `; ${whole(result.untested)} more untested.` : ".";
    const tested = `${count(result.sent, "request")} in ${count(testedOf(result), "termination")}`;
    return element("p", {}, `Nothing lost of ${tested}${untested}`);
  }
  const items = whyOf(result).map(({ cause, words, lost, example }) => {
    const meter = element("i", { style: `width:${((100 * lost) / result.lost).toFixed(1)}%` }, "");
    return element(
      "li",
      {},
      element("span", { class: "number" }, whole(lost)),
      element("span", {}, element("b", {}, escape(cause.startsWith("C") ? `${cause} ${words}` : words))),
      element("span", { class: "meter" }, meter),
      element("span", { class: "example" }, `e.g. ${escape(example.sentence)}`),
    );
  });
  return element("ol", { class: "causes" }, ...items);
}

function figures({ each, timeline, lostRequests, lost }: RemedyResult): string[] {
  if (!timeline || each.length === 0) return [];
  const lives = podLives(timeline.pods);
  const senders = [...senderHistories(timeline.senders).values()].sort((a, b) =>
    a.sender < b.sender ? -1 : 1,
  );
  const lostOf = Map.groupBy(lostRequests, (one) => one.termination);
  const shown = each
    .map((result, index) => ({ result, index }))
    .sort((a, b) => b.result.lost - a.result.lost || b.result.hold - a.result.hold)
    .slice(0, lost > 0 ? pictures.lossy : pictures.lossless)
    .flatMap(({ result, index }): PicturedTermination[] => {
      const life = lives.find((one) => one.pod === result.pod && one.deleted?.at === result.deletedAt);
      // What a sender cut is charged to no pod, and yet belongs in its picture.
      const cut = lostRequests.filter((one) => one.cause === "proxy" && one.pod === result.pod);
      return life ? [{ result, life, senders, lost: [...(lostOf.get(index) ?? []), ...cut] }] : [];
    });
  const atLeast = Math.max(...shown.map(extentOf));
  const [which, why] =
    shown.length === each.length
      ? ["All", ""]
      : [`The ${whole(shown.length)}`, lost > 0 ? "that lost most" : "held longest"];
  return [
    element("h3", {}, `${which} of ${count(each.length, "termination")} ${why}`),
    ...shown.map((one) => figure(caption(one.result), terminationPicture({ ...one, atLeast }))),
  ];
}

function caption({ pod, lost, hold, stopReason, oracle, lastArrival, killed }: TerminationResult): string {
  const parts = [
    `${whole(lost)} lost`,
    `held ${seconds(hold)} s, ended by ${stopReason}${killed ? " (SIGKILL)" : ""}`,
    oracle === undefined
      ? "a sender never stopped sending"
      : `last sender stopped sending after ${seconds(oracle)} s`,
    ...(lastArrival === undefined ? [] : [`last arrival after ${seconds(lastArrival)} s`]),
  ];
  return `${element("b", {}, escape(pod))}: ${escape(parts.join(" · "))}`;
}

const terminationColumns: readonly (readonly [head: string, text: (one: TerminationResult) => string])[] = [
  ["pod", ({ pod }) => pod],
  ["lost", ({ untested, lost }) => (untested === undefined ? whole(lost) : "untested")],
  ["hold, s", ({ hold }) => seconds(hold)],
  ["oracle, s", ({ oracle }) => (oracle === undefined ? "-" : seconds(oracle))],
  ["last arrival, s", ({ lastArrival }) => (lastArrival === undefined ? "-" : seconds(lastArrival))],
  ["in all, s", ({ total }) => seconds(total)],
  ["req/s before", ({ rate }) => rate?.toFixed(1) ?? "-"],
  ["stop reason", ({ killed, stopReason }) => (killed ? `${stopReason}, killed` : stopReason)],
];

function terminationTable(each: readonly TerminationResult[]): string {
  const heads = terminationColumns.map(([head]) => head);
  const rows = each.map((one) => terminationColumns.map(([, text]) => text(one)));
  return fold(count(each.length, "termination"), heads, rows, [0, 7]);
}

function sentenceTable(lost: readonly LostRequest[], index: number): string {
  if (lost.length === 0) return "";
  const step = Math.max(1, Math.ceil(lost.length / sentences));
  const some = lost.filter((_, i) => i % step === 0);
  const rows = some.map((one) => [
    `${seconds(one.at)} s`,
    one.cause,
    one.sentence,
    one.waited < 1_000 ? `${Math.round(one.waited)} ms` : `${seconds(one.waited)} s`,
  ]);
  const name =
    some.length === lost.length
      ? count(lost.length, "lost request")
      : `${whole(some.length)} of ${count(lost.length, "lost request")}, evenly chosen`;
  return filtered(name, ["at", "cause", "what happened", "caller waited"], rows, [1, 2], {
    id: `remedy-${index}`,
    tags: some.map(({ cause, pod, sender }) => [cause, pod ?? "unknown pod", sender]),
  });
}

interface Filter {
  readonly id: string;
  /** Of each row: by what it can be chosen. */
  readonly tags: readonly (readonly string[])[];
}

/** Values that are offered to choose by: more are no choice. */
const mostChoices = 40;

/** A table of which one cause, pod or sender can be chosen, by the page's style alone. */
function filtered(
  name: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  text: readonly number[],
  { id, tags }: Filter,
): string {
  const names = [...new Set(tags.flat())].slice(0, mostChoices);
  if (names.length < 3) return fold(name, heads, rows, text);
  const classes = tags.map((own) => own.map((one) => `of-${names.indexOf(one)}`).join(" "));
  const radio = (choice: string, words: string, isChosen: boolean): string =>
    element(
      "label",
      {},
      element("input", { type: "radio", name: id, id: choice, checked: isChosen ? "" : undefined }),
      escape(words),
    );
  const choices = names.map((one, i) => radio(`${id}-${i}`, one, false));
  const rules = names.map((_, i) => `#${id}-lost:has(#${id}-${i}:checked) tbody tr:not(.of-${i})`).join(",");
  return element(
    "div",
    { id: `${id}-lost` },
    element("style", {}, `${rules}{display:none}`),
    fold(name, heads, rows, text, {
      before: element(
        "fieldset",
        {},
        element("legend", {}, "Show only"),
        radio(`${id}-all`, "all", true),
        ...choices,
      ),
      classes,
    }),
  );
}

function fold(
  name: string,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
  text: readonly number[],
  { before = "", classes = [] }: { readonly before?: string; readonly classes?: readonly string[] } = {},
): string {
  const cell = (tag: string, attributes: Record<string, string>) => (value: string, i: number) =>
    element(tag, { ...attributes, class: text.includes(i) ? "text" : undefined }, escape(value));
  const head = heads.map(cell("th", { scope: "col" }));
  const body = rows.map((row, i) => element("tr", { class: classes[i] }, ...row.map(cell("td", {}))));
  return element("details", {}, element("summary", {}, escape(name)), before, table(name, head, body));
}
