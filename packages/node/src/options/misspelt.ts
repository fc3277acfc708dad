import { nearest } from "@lameduck/drain";
import { environmentVariables, injectedVariables, type Environment } from "./environment.ts";

const prefix = "LAMEDUCK_";
const known = Object.keys({ ...environmentVariables, ...injectedVariables }).map((name) =>
  name.slice(prefix.length),
);

/** What Kubernetes sets in each pod of a namespace for a Service whose name begins with "lameduck". */
const ofService =
  /^LAMEDUCK(_[A-Z0-9_]+)?_(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/** Variables of lameduck-init that resemble ours. */
const ofInit = ["SIGNAL", "GRACE", "INIT"];

/** The name that both lameduck-init and the library read. */
const gracePeriod = "LAMEDUCK_GRACE_PERIOD";

/**
 * One warning for each variable that looks like a misspelt one of ours. Any other unknown name is silent: a newer injector may set
 * variables that an older pod does not know.
 */
export function misspeltVariables(environment: Environment): string[] {
  const isSet = (name: string): boolean => Boolean(environment[name]?.trim());
  const warnings = Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && isSet(name) && !ofService.test(name))
    .flatMap((name) => {
      const short = name.slice(prefix.length);
      if (known.includes(short) || ofInit.includes(short)) return [];
      const meant = nearest(short, known);
      return meant === undefined ? [] : [`${name} is unknown; did you mean ${prefix}${meant}?`];
    });
  if (isSet("LAMEDUCK_GRACE") && !isSet(gracePeriod))
    warnings.push(`LAMEDUCK_GRACE is read by lameduck-init alone; say ${gracePeriod}, which both read`);
  return warnings;
}
