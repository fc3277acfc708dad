import { chose, seen } from "../phrases.ts";
import type { Rule } from "./cause.ts";

/** Something else than the app answered, or the app something else: what did cannot be seen in the answer alone. */
export const otherStatus: Rule = {
  cause: "C11",
  explain(evidence) {
    const { record, life } = evidence;
    if (record.outcome !== "other-status") return undefined;
    const who = life || record.pod ? chose(evidence) : `${record.sender} sent it, to which pod is not known`;
    return `${seen(record)}: ${who}`;
  },
};
