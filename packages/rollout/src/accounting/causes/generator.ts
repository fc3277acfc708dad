import type { Rule } from "./rule.ts";

export const generator: Rule = {
  cause: "C10",
  explain: ({ record, symptom }) =>
    symptom === "not-sent"
      ? `not sent: the load generator could not${record.error ? ` (${record.error})` : ""}; no pod is to blame`
      : undefined,
};
