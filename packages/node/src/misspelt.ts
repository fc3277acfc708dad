import { environmentVariables, type Environment } from "./environment.ts";

const prefix = "LAMEDUCK_";

/** What Kubernetes sets in each pod of a namespace for a Service whose name begins with "lameduck". */
const ofService =
  /^LAMEDUCK(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/** The init's, which look like ours. */
const ofInit = ["LAMEDUCK_SIGNAL"];

/** So many letters may be wrong: two that changed places, or one too many and one too few. */
const most = 2;

/**
 * One warning for each variable that looks like a misspelt one of ours. Any other unknown name is silent: a newer injector may set
 * variables that an older pod does not know.
 */
export function misspeltVariables(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && environment[name]?.trim())
    .filter((name) => !ofService.test(name) && !ofInit.includes(name))
    .flatMap((name) => {
      const meant = nearest(name);
      return meant === undefined ? [] : [`${name} is unknown; did you mean ${meant}?`];
    });
}

/** The nearest known name; none where the name itself is known, or where none is near. */
function nearest(name: string): string | undefined {
  const [best] = Object.keys(environmentVariables)
    .map((known) => ({ known, distance: editDistance(name, known) }))
    .sort((a, b) => a.distance - b.distance);
  return best && best.distance > 0 && best.distance <= most ? best.known : undefined;
}

/** Letters to insert, delete or replace (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let above = 0; above < from.length; above++) {
    const next = [above + 1];
    for (let left = 0; left < to.length; left++)
      next.push(
        Math.min(next[left]! + 1, row[left + 1]! + 1, row[left]! + (from[above] === to[left] ? 0 : 1)),
      );
    row = next;
  }
  return row.at(-1)!;
}
