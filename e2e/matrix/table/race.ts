import type { RecordedRow } from "./recorded.ts";

const width = 840;
const left = 150;
const right = 20;
/** Seconds; no recorded hold of these rows is longer. */
const end = 22;
const line = 20;
const heights = { head: 44, gap: 14 };

const x = (milliseconds: number): number =>
  +(left + (milliseconds / 1000 / end) * (width - left - right)).toFixed(1);
const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

/** docs/race.svg: how long the pod accepts and how long each node's kube-proxy still sends, without and with Lameduck. */
export function race(rows: readonly RecordedRow[]): string {
  const [without, with_] = ["close", "adaptive"].map((remedy) =>
    rows
      .filter((row) => row.scenario === "rollout" && row.route === "cluster-ip" && row.remedy === remedy)
      .toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond)
      .at(0),
  );
  if (!without || !with_) throw new Error("the record has no rollouts through the ClusterIP");
  const first = panel(without, "server.close() at SIGTERM", 20);
  const second = panel(with_, "Lameduck, policy adaptive", first.bottom + heights.gap);
  const height = second.bottom + 30;
  const ticks = Array.from({ length: end / 2 + 1 }, (_, index) => index * 2000).map(
    (at) =>
      `<path d="M${x(at)} 30V${second.bottom}" stroke="#ddd"/>` +
      `<text x="${x(at)}" y="${second.bottom + 18}" text-anchor="middle">${at / 1000} s</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#222">`,
    `<title>How long a deleted pod accepts requests, and how long each node still sends them</title>`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...ticks,
    ...first.parts,
    ...second.parts,
    "</svg>\n",
  ].join("\n");
}

function panel(row: RecordedRow, name: string, top: number): { parts: string[]; bottom: number } {
  const lost = row.lostNew + row.lostPooled;
  const bars = [
    { name: "pod accepts", ...row.hold, color: "#0a7d4b" },
    ...row.lags.map((lag) => ({ name: `${lag.sender.split(" ")[0]} sends`, ...lag, color: "#b98a2e" })),
  ];
  const head =
    `<text x="10" y="${top + 2}" font-weight="600">${name}: ` +
    `${lost} of ${row.sent} requests lost in ${row.terminations} terminations</text>`;
  return {
    parts: [head, ...bars.map((bar, index) => barAt(bar, top + heights.head - 22 + index * line))],
    bottom: top + heights.head - 22 + bars.length * line,
  };
}

interface Bar {
  readonly name: string;
  readonly p50: number;
  readonly max: number;
  readonly color: string;
}

/** Solid up to the median, a thin line up to the maximum. */
function barAt({ name, p50, max, color }: Bar, y: number): string {
  const middle = y + 6;
  return (
    `<g><title>${name}: median ${seconds(p50)}, maximum ${seconds(max)}</title>` +
    `<text x="${left - 8}" y="${y + 10}" text-anchor="end">${name}</text>` +
    `<rect x="${left}" y="${y}" width="${Math.max(1, +(x(p50) - left).toFixed(1))}" height="12" fill="${color}"/>` +
    `<path d="M${x(p50)} ${middle}H${x(max)}" stroke="${color}" stroke-width="2"/></g>`
  );
}
