import { readFileSync, writeFileSync } from "node:fs";
import { plotSize, plotted, type PlotOptions, type Series } from "@lameduck/accounting";
import { element, escape } from "@lameduck/accounting/markup";

/** Draws docs/decision-hold.svg and decision-loss.svg from the tables of research/recordings/grid.md, so that pictures and page cannot differ. */
const docs = new URL("../docs/", import.meta.url);
const inCluster = new Set(["ebpf", "idle-kube-proxy", "busy-iptables", "ingress-nginx"]);
/** As much as a grace period of 30 s leaves. */
const cap = 25;
const colors: Record<string, string> = {
  adaptive: "#0a7d4b",
  learnt: "#66b894",
  "sleep 15": "#b98a2e",
  "quiet 5": "#4467a8",
  knative: "#8fb0e0",
  oracle: "#111",
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

/** A file by itself, for a page of Markdown: it names its series at its upper edge. */
function pagePlot(series: readonly Series[], options: PlotOptions): string {
  const { width, height } = plotSize;
  const names = series.map(({ name, color }, index) =>
    element("text", { x: 80 + index * 110, y: 18, fill: color }, escape(name)),
  );
  const attributes = {
    xmlns: "http://www.w3.org/2000/svg",
    "font-family": "sans-serif",
    "font-size": 11,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": options.title,
  };
  const ground = element("rect", { width, height, fill: "#fff" });
  const style = element("style", {}, ".grid{stroke:#ddd}");
  return `${element("svg", attributes, style, ground, ...names, plotted(series, options))}\n`;
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
