import { protocolTraits } from "@lameduck/load";
import { bestDelay, ours, peers, protocols, supports, type Configuration } from "./cells.ts";
import type { KeptCell } from "./kept.ts";
import { markdownTable } from "../../../../scripts/format-page.ts";

const rows: readonly (readonly [string, Configuration])[] = [
  [ours, "default"],
  ...peers.flatMap((peer): [string, Configuration][] => [
    [peer, "best"],
    [peer, "default"],
  ]),
];

/** The table as Markdown: lost on new + on pooled connections, of all; "-" where a library cannot, "not measured" where nobody has. */
export function tableOf(kept: readonly KeptCell[]): string {
  const cells = new Map(kept.map((cell) => [`${cell.protocol} ${cell.library} ${cell.configuration}`, cell]));
  const lines = rows.map(([library, configuration]) => [
    nameOf(library, configuration),
    ...protocols.map((protocol) =>
      supports(library, protocol) ? lostIn(cells.get(`${protocol} ${library} ${configuration}`)) : "-",
    ),
    holdOf(kept.filter((cell) => cell.library === library && cell.configuration === configuration)),
  ]);
  const head = ["library", ...protocols.map((protocol) => protocolTraits[protocol].name), "held, s"];
  return [markdownTable(head, lines), ...summary(kept), "", ...resent(kept)].join("\n");
}

function nameOf(library: string, configuration: Configuration): string {
  if (library === ours) return "**@lameduck/node**, as shipped";
  return configuration === "best" ? `${library}, ${bestDelay / 1_000} s by hand` : `${library}, as shipped`;
}

function lostIn(cell: KeptCell | undefined): string {
  if (!cell) return "not measured";
  const killed = cell.killed > 0 ? `, ${cell.killed} killed` : "";
  return cell.lost === 0 ? `**0**${killed}` : `${cell.lostNew} + ${cell.lostPooled}${killed}`;
}

/** Median over all protocols of the median, and the longest. */
function holdOf(cells: readonly KeptCell[]): string {
  if (cells.length === 0) return "";
  const medians = cells.map(({ hold }) => hold.p50).sort((a, b) => a - b);
  const longest = Math.max(...cells.map(({ hold }) => hold.max));
  return `${seconds(medians[Math.floor(medians.length / 2)]!)} / ${seconds(longest)}`;
}

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1);

function summary(kept: readonly KeptCell[]): string[] {
  if (kept.length === 0) return [];
  const span = (values: readonly number[]): string => {
    const [low, high] = [Math.min(...values), Math.max(...values)].map((value) => value.toLocaleString("en"));
    return low === high ? low! : `${low} to ${high}`;
  };
  const notSent = kept.filter((cell) => cell.notSent > 0);
  return [
    `${kept.length} cells of ${span(kept.map(({ terminations }) => terminations))} terminations and ` +
      `${span(kept.map(({ sent }) => sent))} requests each, ${span(kept.map(({ rps }) => rps))} a second` +
      (notSent.length === 0
        ? "; the generator sent every one"
        : `; in ${notSent.length} of them the generator could not send ${span(notSent.map((cell) => cell.notSent))}`) +
      `; ${span(kept.map(({ slow, sent }) => Math.round((100 * slow) / sent)))} % answered more than a second late, as the pods of a ` +
      "rollout start on the same cores.",
  ];
}

/** What clients of ours did twice, by their protocol's own rules. */
function resent(kept: readonly KeptCell[]): string[] {
  const own = kept.filter((cell) => cell.library === ours && cell.resent > 0);
  if (own.length === 0) return [];
  const each = own.map((cell) => `${protocolTraits[cell.protocol].name} ${cell.resent.toLocaleString("en")}`);
  return [`Sent away by @lameduck/node in time and answered elsewhere, not lost: ${each.join(", ")}.`];
}
