import { unknownName } from "@lameduck/drain";
import { type Problem, cut } from "./read.ts";

/** To find what a name was meant to be takes its time; a person writes no more wrong ones. */
const most = 20;

/**
 * What is said of names that nobody knows: of the first ones, and that there are more.
 * @param place stands before each: "spec."
 */
export function unknownNames(
  kind: string,
  place: string,
  names: readonly string[],
  known: readonly string[],
): Problem[] {
  const problems = names.slice(0, most).map((name): Problem => ({
    field: cut(place + name),
    message: unknownName(kind, cut(name), known),
    remedy: "remove it, or correct its spelling",
  }));
  if (names.length <= most) return problems;
  // Without their number: whoever removes one of them has added none.
  return [
    ...problems,
    {
      field: place.replace(/[./]$/, ""),
      message: `holds more than ${most} unknown ${kind}s`,
      remedy: "remove them",
    },
  ];
}
