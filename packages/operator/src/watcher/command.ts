import { once } from "node:events";
import { processLog, subcommand } from "../process/subcommand.ts";
import { parseWatcherFlags, watcherHelp, type WatcherFlags } from "./flags.ts";
import { Watcher } from "./watcher.ts";

export const watcher = subcommand(watcherHelp, parseWatcherFlags, watch);

async function watch(flags: WatcherFlags): Promise<void> {
  const ended = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
  const watching = new Watcher(flags, processLog(flags));
  await watching.start();
  await ended;
  await watching.stop();
}
