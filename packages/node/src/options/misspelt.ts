import { nearest } from "@lameduck/drain";
import { initFlags, libraryVariables } from "@lameduck/options";
import { valueOf, type Environment } from "./environment.ts";

const prefix = "LAMEDUCK_";
const short = (variable: string): string => variable.slice(prefix.length);
const known = libraryVariables.map(({ variable }) => short(variable));

/** What Kubernetes sets in each pod of a namespace for a Service whose name begins with "lameduck". */
const ofService =
  /^LAMEDUCK(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/** Variables of lameduck-init. The last one tells that it is a parent. */
const ofInit = [...initFlags.flatMap(({ variable }) => (variable ? [short(variable)] : [])), "INIT"];

/** The name that both lameduck-init and the library read. */
const gracePeriod = "LAMEDUCK_GRACE_PERIOD";

/**
 * One warning for each variable that looks like a misspelt one of ours. Any other unknown name is silent: a newer injector may set
 * variables that an older pod does not know.
 */
export function misspeltVariables(environment: Environment): string[] {
  const isSet = (name: string): boolean => valueOf(environment, name) !== undefined;
  const warnings = Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && isSet(name) && !ofService.test(name))
    .flatMap((name) => {
      if (known.includes(short(name)) || ofInit.includes(short(name))) return [];
      const meant = nearest(short(name), known);
      return meant === undefined ? [] : [`${name} is unknown; did you mean ${prefix}${meant}?`];
    });
  if (isSet("LAMEDUCK_GRACE") && !isSet(gracePeriod))
    warnings.push(`LAMEDUCK_GRACE is read by lameduck-init alone; say ${gracePeriod}, which both read`);
  return warnings;
}
