import { rows, type Option, type OptionName } from "../src/index.ts";

/** "300ms", "5s": as users write it. */
export function duration(milliseconds: number): string {
  return milliseconds !== 0 && milliseconds < 1_000 ? `${milliseconds}ms` : `${milliseconds / 1_000}s`;
}

/** The default as people read it; empty where there is none, or the text says it. */
export function defaultOf({ kind, default: value, byDefault }: Option): string {
  if (byDefault !== undefined) return byDefault;
  if (value === undefined) return "";
  return kind === "duration" ? duration(Number(value)) : String(value);
}

/**
 * The text, after the policy that uses the option.
 * @param spell how somebody spells another option that is named in it; undefined: as it is.
 */
export function textOf(
  { text, policies }: Pick<Option, "text" | "policies">,
  spell: (option: Option) => string | undefined = () => undefined,
  policy = (name: string): string => name,
): string {
  const named = text.replaceAll(/`(\w+)`/g, (whole, name: string) => {
    const other = Object.hasOwn(rows, name) ? rows[name as OptionName] : undefined;
    return (other && spell(other)) ?? whole;
  });
  return policies ? `${policy(policies[0] ?? "")}: ${named}` : named;
}

/** Text, more about it, and the default, in sentences. */
export function sentencesOf(row: Option): string {
  const text = textOf(row, undefined, (policy) => `\`${policy}\``).replaceAll("\n", " ");
  const value = defaultOf(row);
  return [`${capitalized(text)}.`, value === "" ? undefined : `Default: ${value}.`, row.more]
    .filter((one) => one !== undefined)
    .join(" ");
}

/** As the beginning of a sentence, unless that is a name. */
function capitalized(text: string): string {
  return /^[a-z]+\b/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
