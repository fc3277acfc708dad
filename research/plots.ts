import { readFileSync, writeFileSync } from "node:fs";
import { plotSize, plotted, type PlotOptions, type Series } from "@lameduck/accounting";
import { element } from "@lameduck/accounting/markup";
import { svg, text } from "../scripts/pictures/drawing.ts";

/**
 * Draws decision-hold.svg and decision-loss.svg in docs/contributing. They come from the tables of research/recordings/grid.md, so pictures and
 * page cannot differ.
 */
const docs = new URL("../docs/contributing/", import.meta.url);
const inCluster = new Set(["ebpf", "idle-kube-proxy", "busy-iptables", "ingress-nginx"]);
/** As much as a grace period of 30 s leaves. */
const cap = 25;
const colors: Record<string, string> = {
  adaptive: "#2a9d6f",
  learnt: "#8a6fd1",
  "sleep 15": "#b98a2e",
  "quiet 5": "#3b7dd8",
  knative: "#c2607a",
  oracle: "currentColor",
};

interface Row {
  readonly rate: number;
  readonly points: Readonly<Record<string, { readonly lost: number; readonly hold: number }>>;
}

/** The rows of "All cells", whose columns are named in their heads. */
function rowsOf(page: string): Row[] {
  const rows: Row[] = [];
  let names: string[] = [];
  let preset = "";
  for (const line of page.slice(page.indexOf("## All cells")).split("\n")) {
    if (line.startsWith("### ")) preset = line.slice(4).trim();
    if (!line.startsWith("|") || !inCluster.has(preset)) continue;
    const cells = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (cells[0] === "traffic") names = cells;
    else if (!cells[0]?.startsWith("-"))
      rows.push({ rate: Number(cells[2]), points: pointsOf(names, cells) });
  }
  return rows;
}

function pointsOf(names: readonly string[], cells: readonly string[]): Row["points"] {
  const points: Record<string, { lost: number; hold: number }> = {};
  for (const [index, name] of names.entries()) {
    const [lost = "", hold] = (cells[index] ?? "").split(" / ");
    if (hold !== undefined)
      points[name] = { lost: lost.startsWith("<") ? 0.0005 : Number(lost), hold: Number(hold) };
    else if (name === "oracle") points[name] = { lost: 0, hold: Number(lost) };
  }
  return points;
}

function seriesOf(rows: readonly Row[], names: readonly string[], value: "hold" | "lost"): Series[] {
  const rates = [...new Set(rows.map(({ rate }) => rate))].sort((a, b) => a - b);
  return names.map((name) => ({
    name,
    color: colors[name] ?? "#888",
    line: true,
    points: rates.map((rate, index) => {
      const values = rows
        .filter((row) => row.rate === rate)
        .map(({ points }) =>
          value === "hold" ? Math.min(cap, points[name]?.hold ?? 0) : (points[name]?.lost ?? 0),
        );
      return [index, values.reduce((sum, each) => sum + each, 0) / values.length] as const;
    }),
  }));
}

/** Lines differ by their dashes, too. */
const dashes = ["none", "8 3", "2 3", "10 3 2 3", "5 5"] as const;

/** A file by itself, for a page of Markdown: it names its series at its upper edge. */
function pagePlot(series: readonly Series[], options: PlotOptions): string {
  const names = series.map(
    ({ name, color }, index) =>
      element("path", {
        d: `M${70 + index * 114} 14h26`,
        stroke: color,
        "stroke-dasharray": dashes[index],
      }) + text(102 + index * 114, 18, name),
  );
  const dashed = dashes.map((dash, index) => `polyline:nth-of-type(${index + 1}){stroke-dasharray:${dash}}`);
  return svg({
    title: options.title,
    description: `${options.y} against ${options.x}, for ${series.map(({ name }) => name).join(", ")}`,
    ...plotSize,
    style: `text{font-size:13px}${dashed.join("")}`,
    parts: [...names, plotted(series, options)],
  });
}

const rows = rowsOf(readFileSync(new URL("./recordings/grid.md", import.meta.url), "utf8"));
const x = "new connections/s to the pod: 0.01, 0.1, 1, 10, 100, 1000 (0 to 5)";
writeFileSync(
  new URL("decision-hold.svg", docs),
  pagePlot(seriesOf(rows, ["quiet 5", "knative", "adaptive", "learnt", "oracle"], "hold"), {
    title: "mean hold, at most 25 s",
    x,
    y: "mean hold, s",
  }),
);
writeFileSync(
  new URL("decision-loss.svg", docs),
  pagePlot(seriesOf(rows, ["sleep 15", "quiet 5", "adaptive", "learnt"], "lost"), {
    title: "mean loss per termination",
    x,
    y: "mean loss",
    logY: true,
  }),
);
