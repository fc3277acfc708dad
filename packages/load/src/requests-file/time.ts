import { BadLine, quoted, RequestsError } from "./errors.ts";
import type { Zone } from "./request.ts";

const timestamp =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,12}))?\s?([Zz]|[+-]\d{2}:?\d{2})?$/;

/** 1990 and 2200: a number outside, in whatever unit, is no time of a load test. */
const earliest = Date.UTC(1990, 0);
const latest = Date.UTC(2200, 0);

export interface ReadTime {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** What the writing leaves open: the true time is `at` or up to that many milliseconds later. */
  readonly resolution: number;
}

/** RFC 3339, or a number since 1970. Its size shows its unit: the ranges differ by a factor of a thousand. */
export function readTime(text: string, line: number, zone: Zone | undefined): ReadTime {
  const matched = timestamp.exec(text);
  if (matched) return fromTimestamp(matched, text, line, zone);
  if (/^\d{9,}(?:\.\d+)?$/.test(text)) {
    const value = Number(text);
    for (const perMillisecond of [0.001, 1, 1e3, 1e6]) {
      const at = value / perMillisecond;
      if (at >= earliest && at < latest)
        return { at, resolution: text.includes(".") ? 0 : Math.max(1 / perMillisecond, 0) };
    }
  }
  throw new BadLine(line, `${quoted(text)} is not a time`, "LAMEDUCK_REQUESTS_BAD_TIME");
}

function fromTimestamp(
  matched: RegExpExecArray,
  text: string,
  line: number,
  zone: Zone | undefined,
): ReadTime {
  const [, date, clock, fraction = "", offset] = matched;
  const whole = Date.parse(`${date}T${clock}Z`);
  if (Number.isNaN(whole) || whole < earliest || whole >= latest)
    throw new BadLine(line, `${quoted(text)} is not a time`, "LAMEDUCK_REQUESTS_BAD_TIME");
  const local = whole + (fraction === "" ? 0 : Number(`0.${fraction}`) * 1_000);
  // Go leaves zeros at the end of a fraction away: few digits do not mean few were known.
  const resolution = fraction === "" ? 1_000 : 0;
  if (offset !== undefined) return { at: local - offsetOf(offset), resolution };
  if (zone === undefined)
    throw new BadLine(line, `${quoted(text)} names no time zone`, "LAMEDUCK_REQUESTS_NO_ZONE");
  return { at: local - zone(local), resolution };
}

/** "Z" or "+02:00", milliseconds. */
function offsetOf(text: string): number {
  if (/^z$/i.test(text)) return 0;
  const sign = text.startsWith("-") ? -1 : 1;
  const digits = text.replaceAll(/\D/g, "");
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2))) * 60_000;
}

/** @param text "Z", "utc", "+02:00" or a name of the time zone database. */
export function parseZone(text: string, option: string): Zone {
  if (/^(?:z|utc)$/i.test(text)) return () => 0;
  if (/^[+-]\d{2}:?\d{2}$/.test(text)) {
    const offset = offsetOf(text);
    return () => offset;
  }
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: text, timeZoneName: "longOffset" });
  } catch {
    throw new RequestsError("LAMEDUCK_REQUESTS_BAD_ZONE", option, `${quoted(text)} is not a time zone`);
  }
  return (local) => {
    // The offset that holds at the local time itself; a second look settles the hours around a change.
    const first = offsetAt(format, local);
    return offsetAt(format, local - first);
  };
}

/** From "GMT+02:00", or "GMT" alone. */
function offsetAt(format: Intl.DateTimeFormat, at: number): number {
  const name = format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value ?? "";
  return offsetOf(name.replace("GMT", "") || "Z");
}

const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 6e4,
  h: 3.6e6,
};

/** A number that large is a mistake, and no request takes eleven days. */
const longest = 1e9;

/** A number of milliseconds, or numbers with units as Go writes durations ("1m2.5s"). */
export function readDuration(text: string, line: number): number {
  const duration = /^\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : fromUnits(text);
  if (duration <= longest) return duration;
  throw new BadLine(line, `${quoted(text)} is not a duration such as 12.5, "12.5ms" or "1.2s"`);
}

/** NaN for an invalid time. */
function fromUnits(text: string): number {
  if (!/^(?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return Number.NaN;
  let sum = 0;
  for (const [, value = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|s|m|h)/g))
    sum += Number(value) * (units[unit] ?? 0);
  return sum;
}
