import { BadLine } from "./errors.ts";
import type { Parser } from "./request.ts";

/** No record of a load tool is longer; without bounds one stray quote would swallow a file of gigabytes. */
const longestRecord = 1024 * 1024;
const mostLines = 1_000;

/** Puts records together from lines: RFC 4180, where a quoted field may hold commas, doubled quotes and line ends. */
export class CsvRecords implements Parser {
  readonly #record: (fields: string[], line: number) => void;
  #open = "";
  #openedAt = 0;

  constructor(record: (fields: string[], line: number) => void) {
    this.#record = record;
  }

  line(text: string, number: number): void {
    if (this.#open === "" && !text.includes('"')) {
      if (text !== "") this.#record(text.split(","), number);
      return;
    }
    const whole = this.#open === "" ? text : `${this.#open}\n${text}`;
    const started = this.#open === "" ? number : this.#openedAt;
    const fields = split(whole);
    if (fields) {
      this.#open = "";
      this.#record(fields, started);
      return;
    }
    if (whole.length > longestRecord || number - started > mostLines)
      throw new BadLine(started, "a quote is opened and never closed");
    this.#open = whole;
    this.#openedAt = started;
  }

  end(): void {
    if (this.#open !== "") throw new BadLine(this.#openedAt, "a quote is opened and never closed");
  }
}

/**
 * Rows below a first one that names the columns; a field that is not there is empty.
 * @param names of the columns, from the first row
 */
export function csvTable(
  names: (fields: readonly string[], line: number) => readonly string[],
  row: (field: (name: string) => string, line: number) => void,
): CsvRecords {
  let places: ReadonlyMap<string, number> | undefined;
  return new CsvRecords((fields, line) => {
    const known = places;
    if (!known) places = new Map(names(fields, line).map((name, index) => [name, index]));
    else if (fields.length === known.size) row((name) => fields[known.get(name) ?? -1] ?? "", line);
    else throw new BadLine(line, `has ${fields.length} fields and not ${known.size}`);
  });
}

/** The fields, or undefined where a quote is still open. */
export function split(text: string): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; ;) {
    // A doubled quote ends one quoted part and begins another.
    const quoted: string[] = [];
    while (text[at] === '"') {
      const end = text.indexOf('"', at + 1);
      if (end === -1) return undefined;
      quoted.push(text.slice(at + 1, end));
      at = end + 1;
    }
    // Whatever stands between the closing quote and the comma belongs to the field, as lenient readers have it.
    const comma = text.indexOf(",", at);
    fields.push(quoted.join('"') + text.slice(at, comma === -1 ? undefined : comma));
    if (comma === -1) return fields;
    at = comma + 1;
  }
}
