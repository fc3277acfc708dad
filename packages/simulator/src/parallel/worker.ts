import { parentPort, workerData } from "node:worker_threads";
import { contenderFrom } from "../policies/recipe.ts";
import { playPart } from "../run.ts";
import type { Assignment, Job, Told } from "./messages.ts";

const { scenario, world, recipes, seed } = workerData as Assignment;
const tell = (told: Told): void => parentPort?.postMessage(told);

parentPort?.on("message", ({ from, to, contenders }: Job) => {
  const chosen = contenders.map((index) => contenderFrom(recipes[index]!));
  const onPlayed = (): boolean => {
    tell(undefined);
    return true;
  };
  tell(playPart(scenario, world, chosen, { seed, from, to, onPlayed }));
});
