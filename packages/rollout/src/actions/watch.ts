import { nameOf, type TargetReference } from "../target-reference.ts";
import type { Action } from "./action.ts";

/** Does nothing: another tool rolls the target. It is only watched, under load if there is one. */
export function watch(reference: TargetReference): Action {
  const name = nameOf(reference);
  return {
    name: "watch",
    plan: `watch ${name}; change nothing`,
    summary: `${name} was watched`,
    obstacle: () => undefined,
    rules: [],
    run: () => Promise.resolve(),
    goesOn: () => undefined,
  };
}
