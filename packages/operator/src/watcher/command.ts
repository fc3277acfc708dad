import { once } from "node:events";
import { processLog } from "../process/log.ts";
import type { Subcommand } from "../process/subcommand.ts";
import { parseWatcherFlags, watcherHelp } from "./flags.ts";
import { Watcher } from "./watcher.ts";

export const watcher: Subcommand = {
  helpText: watcherHelp,
  async run(args) {
    const flags = parseWatcherFlags(args);
    if (flags === undefined) {
      process.stdout.write(watcherHelp);
      return;
    }
    const ended = Promise.race([once(process, "SIGTERM"), once(process, "SIGINT")]);
    const watching = new Watcher(flags, processLog(flags));
    await watching.start();
    await ended;
    await watching.stop();
  },
};
