import { parentPort, workerData } from "node:worker_threads";
import { playPart } from "../run.ts";
import type { Assignment, FromWorker, Job } from "./workers.ts";
import { bare, drained, withCoordinator } from "../policies/drained.ts";
import { learning } from "../policies/learning.ts";
import { istio, oracle, wStar } from "../policies/competitors.ts";
import type { Contender, Recipe } from "../policies/stopper.ts";

const { scenario, world, recipes, seed } = workerData as Assignment;
const tell = (message: FromWorker): void => parentPort?.postMessage(message);

parentPort?.on("message", ({ from, to, contenders }: Job) => {
  const chosen = contenders.map((index) => contenderFrom(recipes[index]!));
  const onPlayed = (): boolean => {
    tell(undefined);
    return true;
  };
  tell(playPart(scenario, world, chosen, { seed, from, to, onPlayed }));
});

function contenderFrom(recipe: Recipe): Contender {
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
      return istio();
    case "w*":
      return wStar(recipe.tau, recipe.budget, recipe.cap);
    case "oracle":
      return oracle();
  }
}
