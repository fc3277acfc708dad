import { failedAt } from "../evidence.ts";
import { seen } from "../phrases.ts";
import { emptyAt } from "../sender-history.ts";
import { tolerance } from "../tolerance.ts";
import { spell } from "../words.ts";
import type { Rule } from "./rule.ts";

export const noEndpoint: Rule = {
  cause: "C9",
  explain({ record, symptom, sender, candidates }) {
    // A pod that was chosen is an endpoint; one inferred from the time was not chosen for certain.
    const chosen = record.pod !== undefined && candidates === undefined;
    if (chosen || !sender || symptom === "wrong-answer" || symptom === "truncated") return undefined;
    const at = failedAt(record);
    const empty = emptyAt(sender, at, tolerance.observation);
    if (!empty) return undefined;
    const since = at - empty.from;
    return `${seen(record)}: ${record.sender} had no endpoint left${since >= 1 ? `, for ${spell(since)} already` : ""}`;
  },
};
