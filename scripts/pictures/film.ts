import xterm from "@xterm/headless";
import { element, escape } from "../../packages/accounting/src/report/markup.ts";
import type { Picture } from "./drawing.ts";

export interface Film {
  readonly prompt: string;
  /** What the terminal was sent, and at which second. */
  readonly chunks: readonly { readonly at: number; readonly bytes: Buffer }[];
  readonly size: { readonly columns: number; readonly rows: number };
  readonly speed: number;
  /** Seconds of the film between two looks at the screen. */
  readonly frame: number;
}

/** What one row of the screen showed, in seconds of the film. `to` is undefined for what stays. */
interface Shown {
  readonly row: number;
  readonly markup: string;
  readonly from: number;
  to?: number;
}

const letter = { width: 8.45, height: 18, size: 14 };
const margin = 12;
/** The film of a terminal, up to the end of the first table. It is played once: what moves for ever beside a text cannot be read. */
export async function film({ prompt, chunks, size, speed, frame }: Film): Promise<Picture> {
  const terminal = new xterm.Terminal({ cols: size.columns, rows: size.rows, allowProposedApi: true });
  const write = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve) => terminal.write(data, resolve));
  const shown: Shown[] = [];
  const current = new Map<number, Shown>();
  let last = 0;
  const look = (at: number): void => {
    last = at;
    for (let row = 0; row < size.rows; row++) {
      const markup = markupOf(terminal, row);
      const before = current.get(row);
      if (before?.markup === markup) continue;
      if (before) before.to = at;
      current.set(row, { row, markup, from: at });
      shown.push(current.get(row)!);
    }
  };
  await write(`${prompt}\r\n`);
  look(0);
  // Until the first line a program is loaded, which shows nothing.
  const [{ at: start } = { at: 0 }] = chunks;
  for (const { at, bytes } of untilTableEnds(chunks)) {
    const now = 1 + (at - start) / speed;
    // Before it is written: what the screen showed until now.
    if (now - last >= frame) look(now);
    await write(bytes);
  }
  look(last + frame);
  const rows = shown.filter(({ markup }) => markup !== "");
  const across = Math.ceil(2 * margin + size.columns * letter.width);
  const height = 2 * margin + (Math.max(...rows.map(({ row }) => row)) + 1) * letter.height;
  return {
    title: "lameduck lab at work",
    description: `A terminal, ${speed} times as fast as it was. Its last lines: ${textOf(terminal, 5).join(" / ")}`,
    width: across,
    height,
    style:
      `text{font:${letter.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;white-space:pre}` +
      // What has gone is shown for its time only; what stays is hidden until it comes.
      ".a{visibility:hidden}@keyframes on{0%,to{visibility:visible}}@keyframes off{0%,to{visibility:hidden}}" +
      "@media(prefers-reduced-motion:reduce){text{animation:none!important}}",
    parts: [
      element("rect", { x: 1, y: 1, width: across - 2, height: height - 2, rx: 6, class: "grid outline" }),
      ...[...Map.groupBy(rows, ({ row }) => row)].map(([row, states]) =>
        element(
          "g",
          { class: "ink", transform: `translate(${margin} ${margin + (row + 0.75) * letter.height})` },
          ...states.map(({ markup, from, to }) =>
            element(
              "text",
              to === undefined
                ? { style: from > 0 ? `animation:off ${short(from)}` : undefined }
                : { class: "a", style: `animation:on ${short(to - from)} ${short(from)}` },
              markup,
            ),
          ),
        ),
      ),
    ],
  };
}

const short = (seconds: number): string => `${+seconds.toFixed(2)}s`;

/** What follows the table says why requests were lost: too much for a picture. */
function untilTableEnds(chunks: Film["chunks"]): Film["chunks"] {
  const whole = Buffer.concat(chunks.map(({ bytes }) => bytes)).toString("latin1");
  const table = whole.search(/-{40}/);
  const end = table < 0 ? -1 : whole.indexOf("\r\n\r\n", table);
  if (end < 0) throw new Error(`the lab printed no table: ${whole.slice(-500)}`);
  let offset = 0;
  return chunks.flatMap(({ at, bytes }) => {
    const left = end - offset;
    offset += bytes.length;
    return left > 0 ? [{ at, bytes: bytes.subarray(0, left) }] : [];
  });
}

/** One row of the screen: text, with a span for each change of style. */
function markupOf(terminal: xterm.Terminal, row: number): string {
  const { active } = terminal.buffer;
  const line = active.getLine(active.baseY + row);
  if (!line) return "";
  const spans: { kind: string; text: string }[] = [];
  const end = line.translateToString(true).length;
  for (let column = 0; column < end; column++) {
    const cell = line.getCell(column)!;
    const kind = [
      cell.isBold() ? "name" : "",
      cell.isDim() ? "soft" : "",
      { 1: "bad", 2: "good", 9: "bad", 10: "good" }[cell.isFgPalette() ? cell.getFgColor() : -1] ?? "",
    ]
      .filter((one) => one !== "")
      .join(" ");
    const text = cell.getChars() || " ";
    const before = spans.at(-1);
    if (before?.kind === kind) before.text += text;
    else spans.push({ kind, text });
  }
  return spans
    .map(({ kind, text }) => (kind === "" ? escape(text) : element("tspan", { class: kind }, escape(text))))
    .join("");
}

/** The last lines that are not empty. */
function textOf(terminal: xterm.Terminal, lines: number): string[] {
  const { active } = terminal.buffer;
  return Array.from({ length: active.length }, (_, row) =>
    active.getLine(row)!.translateToString(true).trim(),
  )
    .filter((line) => line !== "")
    .slice(-lines);
}
