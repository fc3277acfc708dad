import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import { lameduck } from "@lameduck/node";
import { processLog } from "../process/log.ts";
import { ownEnvironment, type Subcommand } from "../process/subcommand.ts";
import { Coordinator } from "./coordinator.ts";
import { type CoordinatorFlags, helpText, parseCoordinatorFlags } from "./flags.ts";

export const coordinator: Subcommand = {
  helpText,
  async run(args) {
    const flags = parseCoordinatorFlags(args);
    if (flags) await serve(flags);
    else process.stdout.write(helpText);
  },
};

async function serve(flags: CoordinatorFlags): Promise<void> {
  const log = processLog(flags);
  const connection = clusterConnection(
    flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig },
  );
  const client = new KubernetesClient(connection);
  const replica = new Coordinator({ flags, client, connection, log });
  lameduck(replica.server, {
    cap: Math.min(10_000, flags.gracePeriod / 3),
    grace: flags.gracePeriod,
    log,
    environment: ownEnvironment(),
  })
    // Requests that wait are in flight: answered at once, they do not keep it from stopping.
    .hook("lame-duck", "requests that wait", () => replica.leave())
    .hook("closed", "coordinator", () => replica.stop());
  await replica.start();
}
