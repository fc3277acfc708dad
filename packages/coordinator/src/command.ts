import { KubernetesClient } from "@lameduck/kube";
import { clusterConnection } from "@lameduck/kube/kubeconfig";
import { lameduck } from "@lameduck/node";
import { processLog, ownEnvironment, subcommand } from "@lameduck/program";
import { Records } from "./records/records.ts";
import { Coordinator } from "./coordinator.ts";
import { type CoordinatorFlags, helpText, parseCoordinatorFlags } from "./flags.ts";
import { steadyNow, type TerminationListener } from "./termination-view.ts";

export const coordinator = subcommand(helpText, parseCoordinatorFlags, serve);

async function serve(flags: CoordinatorFlags): Promise<void> {
  const log = processLog(flags);
  const connection = clusterConnection({ kubeconfig: flags.kubeconfig });
  const client = new KubernetesClient(connection);
  const listeners: TerminationListener[] = [];
  const replica = new Coordinator({ flags, client, connection, log, listeners });
  const { registry, problems } = replica.metrics;
  const records = new Records(client, {
    namespace: flags.namespace ?? connection.namespace,
    name: flags.name,
    registry,
    retention: flags.retention,
    clock: steadyNow,
    onProblem: (part, error) => {
      problems.inc({ part });
      log.warn({ part, err: error }, "it is tried again");
    },
  });
  listeners.push(records.hear);
  lameduck(replica.server, {
    cap: Math.min(10_000, flags.gracePeriod / 3),
    grace: flags.gracePeriod,
    log,
    environment: ownEnvironment(),
  })
    // Long polls are in flight. They are answered at once, so that they do not delay the stop.
    .hook("lame-duck", "requests that wait", () => replica.endLongPolls())
    .hook("closed", "coordinator", async () => {
      await records.stop();
      await replica.stop();
    });
  await replica.start();
  records.start();
}
