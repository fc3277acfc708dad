import { escape, roundTicks } from "@lameduck/accounting";

/** Just enough of a plot: axes, lines, dots, labels. No library, so that a page needs nothing but itself. */
export interface Series {
  readonly name: string;
  readonly color: string;
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly line?: boolean;
  readonly dots?: boolean;
  readonly labels?: readonly string[];
}

export interface PlotOptions {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly logY?: boolean;
  readonly width?: number;
  readonly height?: number;
}

const margin = { top: 28, right: 16, bottom: 40, left: 64 };

export function plot(series: readonly Series[], options: PlotOptions): string {
  const { width = 640, height = 360 } = options;
  return `<figure><figcaption>${escape(options.title)}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(options.title)}">${inside(series, options, width, height)}</svg>${legend(series)}</figure>`;
}

/** A file by itself, for a page of Markdown. */
export function pagePlot(series: readonly Series[], options: PlotOptions): string {
  const { width = 640, height = 360 } = options;
  const names = series.map(
    ({ name, color }, index) =>
      `<text x="${margin.left + 16 + index * 110}" y="18" fill="${color}">${escape(name)}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="11" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(options.title)}"><style>.grid{stroke:#ddd}</style><rect width="${width}" height="${height}" fill="#fff"/>${names.join("")}${inside(series, options, width, height)}</svg>\n`;
}

function inside(series: readonly Series[], options: PlotOptions, width: number, height: number): string {
  const all = series.flatMap(({ points }) => points);
  const right = Math.max(1e-9, ...all.map(([x]) => x)) * 1.04;
  const highest = Math.max(1e-9, ...all.map(([, y]) => y));
  const least = options.logY
    ? Math.min(highest, Math.max(1e-5, Math.min(...all.map(([, y]) => Math.max(y, 1e-5)))))
    : 0;
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const px = (x: number): number => margin.left + (x / right) * inner.width;
  const py = (y: number): number => {
    const share = options.logY
      ? Math.log(Math.max(y, least) / least) / Math.max(1e-9, Math.log((highest * 1.5) / least))
      : y / (highest * 1.05);
    return margin.top + (1 - share) * inner.height;
  };
  const body = series.map((one) => drawn(one, px, py)).join("");
  return axes(options, right, least, highest, px, py, width, height) + body;
}

function drawn(series: Series, px: (x: number) => number, py: (y: number) => number): string {
  const at = series.points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`);
  const line = series.line
    ? `<polyline fill="none" stroke="${series.color}" stroke-width="2" points="${at.join(" ")}"/>`
    : "";
  const dots =
    series.dots === false
      ? ""
      : series.points
          .map(([x, y], index) => {
            const label = series.labels?.[index] ?? series.name;
            return `<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3.5" fill="${series.color}"><title>${escape(label)}</title></circle>`;
          })
          .join("");
  return line + dots;
}

function axes(
  options: PlotOptions,
  right: number,
  least: number,
  highest: number,
  px: (x: number) => number,
  py: (y: number) => number,
  width: number,
  height: number,
): string {
  const bottom = height - margin.bottom;
  const xs = roundTicks(0, right, 5).map(
    (x) =>
      `<line x1="${px(x)}" x2="${px(x)}" y1="${margin.top}" y2="${bottom}" class="grid"/><text x="${px(x)}" y="${bottom + 16}" text-anchor="middle">${short(x)}</text>`,
  );
  const levels = options.logY ? decades(least, highest) : roundTicks(0, highest, 5);
  const ys = levels.map(
    (y) =>
      `<line x1="${margin.left}" x2="${width - margin.right}" y1="${py(y)}" y2="${py(y)}" class="grid"/><text x="${margin.left - 6}" y="${py(y) + 4}" text-anchor="end">${short(y)}</text>`,
  );
  return `${xs.join("")}${ys.join("")}<text x="${(width + margin.left) / 2}" y="${height - 6}" text-anchor="middle">${escape(options.x)}</text><text transform="translate(14 ${height / 2}) rotate(-90)" text-anchor="middle">${escape(options.y)}</text>`;
}

function legend(series: readonly Series[]): string {
  return `<p class="legend">${series.map(({ name, color }) => `<span><i style="background:${color}"></i>${escape(name)}</span>`).join(" ")}</p>`;
}

function decades(least: number, highest: number): number[] {
  const from = Math.ceil(Math.log10(least) - 1e-9);
  const to = Math.floor(Math.log10(highest * 1.5));
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => 10 ** (from + index));
}

function short(value: number): string {
  return String(+value.toPrecision(3));
}
