import type { Rule } from "../rule.ts";
import { graceTooShort } from "./grace-too-short.ts";
import { lameDuckTooShort } from "./lame-duck-too-short.ts";
import { noLameDuck } from "./no-lame-duck.ts";
import { prestopExceedsGrace } from "./prestop-exceeds-grace.ts";

/** In the order of the documentation. */
export const rules: readonly Rule[] = [prestopExceedsGrace, graceTooShort, noLameDuck, lameDuckTooShort];

export function ruleNamed(id: string): Rule | undefined {
  return rules.find((rule) => rule.id === id);
}
