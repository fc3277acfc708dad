import { parseDuration } from "@lameduck/drain/duration";
import { messageOf } from "@lameduck/drain/common";
import type { Field } from "@lameduck/manifests";
import { AuditError } from "../errors.ts";

/** Where a number comes from. */
type Origin =
  | { readonly kind: "field"; readonly path: string; readonly place: string }
  | { readonly kind: "annotation"; readonly path: string; readonly place: string }
  | { readonly kind: "flag"; readonly path: string }
  | { readonly kind: "default"; readonly of: string }
  | { readonly kind: "assumption"; readonly because: string };

/** A number of the arithmetic, in seconds unless it says otherwise, with its name and where it comes from. */
export interface Amount {
  readonly name: string;
  readonly value: number;
  readonly origin: Origin;
}

export function fromField(name: string, value: number, field: Field): Amount {
  return { name, value, origin: { kind: "field", path: field.path, place: field.place } };
}

export function byDefault(name: string, value: number, of: string): Amount {
  return { name, value, origin: { kind: "default", of } };
}

export function assumed(name: string, value: number, because: string): Amount {
  return { name, value, origin: { kind: "assumption", because } };
}

/** A whole number of at least `least`, or the API server's default. */
export function wholeOr(field: Field, least: number, name: string, otherwise: number): Amount {
  const value = field.whole(least, otherwise);
  return field.exists ? fromField(name, value, field) : byDefault(name, value, "Kubernetes");
}

/** The value of an annotation such as `lameduck.dev/drain: 20s`. @throws {AuditError} LAMEDUCK_AUDIT_BAD_ANNOTATION */
export function fromAnnotation(name: string, field: Field): Amount {
  try {
    const value = parseDuration(field.mustText(), field.path) / 1_000;
    return { name, value, origin: { kind: "annotation", path: lastOf(field.path), place: field.place } };
  } catch (error) {
    throw new AuditError(
      "LAMEDUCK_AUDIT_BAD_ANNOTATION",
      field.place,
      messageOf(error).replace(`${field.place}: `, ""),
    );
  }
}

export function isAssumed({ origin }: Amount): boolean {
  return origin.kind === "assumption";
}

/** "10", "2.5": seconds as they are written. */
export function seconds(value: number): string {
  return Number.isFinite(value) ? `${+value.toFixed(1)}` : "endless";
}

export function spellOrigin(origin: Origin): string {
  switch (origin.kind) {
    case "field":
      return `${origin.path}${placeIn(origin.place)}`;
    case "annotation":
      return `annotation ${origin.path}${placeIn(origin.place)}`;
    case "flag":
      return origin.path;
    case "default":
      return `default of ${origin.of}`;
    case "assumption":
      return `assumed: ${origin.because}`;
  }
}

/** Objects of a cluster have no lines. */
function placeIn(place: string): string {
  return place.startsWith("cluster:") ? "" : ` (${place})`;
}

function lastOf(path: string): string {
  return path.replace(/^.*annotations\./, "");
}

/** Seconds of "20s" or "1m"; undefined for what Lameduck would refuse. */
export function durationOf(text: string): number | undefined {
  try {
    return parseDuration(text, "duration") / 1_000;
  } catch {
    return undefined;
  }
}
