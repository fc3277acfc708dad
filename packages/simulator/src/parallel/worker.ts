import { parentPort, workerData } from "node:worker_threads";
import { contenderFrom } from "../policies/recipe.ts";
import { playPart } from "../run.ts";
import type { Assignment, Job, FromWorker } from "./messages.ts";

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
