import { Command } from "commander";
import { conduct } from "./conduct.ts";
import { addRolloutOptions, type RolloutOptions } from "./options.ts";
import { rolloutRequest } from "./settings.ts";

/** `lameduck rollout`: rolls or watches a workload of a cluster under load. */
export function rolloutCommand(exit: (code: number) => void): Command {
  const command = addRolloutOptions(
    new Command("rollout")
      .description(
        "Restart, scale, delete, evict or only watch a workload of a cluster under load, and account for every lost request.",
      )
      .argument(
        "<target>",
        "deployment/NAME, statefulset/NAME, daemonset/NAME, rollout/NAME (Argo) or pod/NAME",
      ),
  );
  return command.action(async (target: string, options: RolloutOptions) => {
    exit(await conduct(rolloutRequest(target, options), options));
  });
}
