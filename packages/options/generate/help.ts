import { initFlags, rows, sections, type InitFlag, type Option } from "../src/index.ts";
import { defaultOf, textOf } from "./words.ts";

/** The column at which texts begin. */
const column = 21;

/** The options in `lameduck-init --help`, in sections. */
export function optionHelp(): string {
  const flags = new Map(initFlags.map((flag) => [flag.flag, flag]));
  return sections
    .map(({ title, options }) => {
      const lines = Object.values(options).flatMap(({ init }) => {
        const flag = init && flags.get(init.flag);
        return flag === undefined || flag.shownAs === "" ? [] : [lineOf(flag)];
      });
      return `\n${title}\n${lines.join("\n")}\n`;
    })
    .join("");
}

function lineOf(flag: InitFlag): string {
  const row = rows[flag.name];
  const { letter, value = row.kind === "duration" ? "D" : undefined } = flag;
  const spelt = `${letter === undefined ? "" : `-${letter}, `}--${flag.flag}${value === undefined ? "" : ` ${value}`}`;
  const start = `  ${flag.shownAs ?? spelt}`;
  const text = textOf(
    { ...row, text: flag.text ?? row.text },
    ({ init }) => init && `--${init.flag}`,
  ).replaceAll("\n", `\n${" ".repeat(column)}`);
  if (text === "") return start;
  const said = [
    defaultIn(row),
    flag.variable === row.variable || row.variable === undefined ? "" : `also ${row.variable}`,
  ];
  const besides = said.filter((one) => one !== "").join("; ");
  const end = besides === "" ? "" : ` (${besides})`;
  return `${start.length < column ? start.padEnd(column) : `${start}   `}${text}${end}`;
}

function defaultIn(row: Option): string {
  return row.kind === "switch" || row.init?.text !== undefined ? "" : defaultOf(row);
}
