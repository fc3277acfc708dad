import cluster from "node:cluster";
import { onWord, tellWord } from "../internals.ts";

/** What a worker of a cluster does as its primary says. */
export interface Follower {
  /** @param over to be called when the hold is over. */
  hold(over: () => void): void;
  /** The primary's program has said all that it will. */
  letGo(): void;
}

/** A primary with Lameduck knows from now on that this worker can be told to hold. @returns what ends it. */
export function followPrimary(follower: Follower): (isEnding: boolean) => void {
  if (!cluster.isWorker) return () => {};
  const stop = onWord(process, (word) => {
    if (word === "who") tellWord(process, "here");
    if (word === "hold") follower.hold(() => tellWord(process, "over"));
    if (word === "end") follower.letGo();
  });
  tellWord(process, "here");
  return (isEnding) => {
    stop();
    if (!isEnding) tellWord(process, "left");
  };
}
