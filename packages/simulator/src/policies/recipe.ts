import type { DrainOptions } from "@lameduck/drain";
import { bare, drained } from "./drained.ts";
import { learning } from "./learning.ts";
import { istio, oracle, wStar } from "./peers.ts";
import type { Contender } from "./stopper.ts";

/** What a contender is made from, as plain data: it can be sent to another thread, where functions cannot. */
export type Recipe =
  | {
      readonly kind: "drained" | "bare" | "learning";
      readonly name: string;
      readonly options: DrainOptions;
      readonly description: string;
    }
  | { readonly kind: "istio"; readonly minimum: number; readonly period: number }
  | { readonly kind: "w*"; readonly tau: number; readonly budget: number; readonly cap: number }
  | { readonly kind: "oracle" };

export function contenderFrom(recipe: Recipe): Contender {
  switch (recipe.kind) {
    case "drained":
      return drained(recipe.name, recipe.options, recipe.description);
    case "bare":
      return bare(recipe.name, recipe.options, recipe.description);
    case "learning":
      return learning(recipe.name, recipe.options, recipe.description);
    case "istio":
      return istio(recipe.minimum, recipe.period);
    case "w*":
      return wStar(recipe.tau, recipe.budget, recipe.cap);
    case "oracle":
      return oracle();
  }
}
