/** Lines "key: value" as text, and back. */
export const headLine = "lameduck 1";

/** The major version that the first line names; undefined where it names none. 1.2 is compatible with 1. */
export function versionOf(text: string): string | undefined {
  return /^lameduck (\d{1,9})(?:\.\d{1,9})?\s*(?:\n|$)/.exec(text)?.[1];
}

export function writeLines(fields: Readonly<Record<string, string | number | undefined>>): string {
  const lines = Object.entries(fields).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}: ${value}`],
  );
  return `${[headLine, ...lines].join("\n")}\n`;
}

const mostLines = 32;
const longestValue = 2_048;

/** Reads the keys that are asked for. Other keys, long values and values with control characters are dropped. */
export function readLines(text: string, keys: ReadonlySet<string>): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const line of text.split("\n", mostLines)) {
    const at = line.indexOf(":");
    const key = line.slice(0, Math.max(0, at)).trim();
    const value = line.slice(at + 1).trim();
    // eslint-disable-next-line no-control-regex
    if (keys.has(key) && value.length <= longestValue && !/[\u0000-\u001f\u007f]/.test(value))
      fields[key] = value;
  }
  return fields;
}
