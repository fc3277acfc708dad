import { bare, drained, withCoordinator } from "./drained.ts";
import { learning } from "./learning.ts";
import { istio, oracle, wStar } from "./competitors.ts";
import type { Contender, Recipe } from "./stopper.ts";

export function contenderFrom(recipe: Recipe): Contender {
  switch (recipe.kind) {
    case "drained":
      return drained(recipe.name, recipe.options, recipe.description);
    case "withCoordinator":
      return withCoordinator(recipe.name, recipe.options, recipe.description);
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
