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

/** The text, with the names of other options as somebody spells them. @param spell undefined: as it is. */
export function textOf({ text, policies }: Option, spell: (option: Option) => string | undefined): string {
  const named = text.replaceAll(/`(\w+)`/g, (whole, name: string) => {
    const other = Object.hasOwn(rows, name) ? rows[name as OptionName] : undefined;
    return (other && spell(other)) ?? whole;
  });
  return policies ? `${policies[0]}: ${named}` : named;
}

/** As the beginning of a sentence. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
