import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import { lameduck } from "@lameduck/node";
import { processLog, ownEnvironment, subcommand } from "@lameduck/program";
import { RecordKeeping } from "./records/record-keeping.ts";
import { Coordinator } from "./coordinator.ts";
import { type CoordinatorFlags, helpText, parseCoordinatorFlags } from "./flags.ts";
import type { TerminationListener } from "./termination.ts";

export const coordinator = subcommand(helpText, parseCoordinatorFlags, serve);

async function serve(flags: CoordinatorFlags): Promise<void> {
  const log = processLog(flags);
  const connection = clusterConnection(
    flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig },
  );
  const client = new KubernetesClient(connection);
  const listeners: TerminationListener[] = [];
  const replica = new Coordinator({ flags, client, connection, log, listeners });
  const { registry, problems } = replica.metrics;
  const keeping = new RecordKeeping(client, {
    namespace: flags.namespace ?? connection.namespace,
    name: flags.name,
    registry,
    retention: flags.retention,
    onProblem: (part, error) => {
      problems.inc({ part });
      log.warn({ part, err: error }, "it is tried again");
    },
  });
  listeners.push(keeping.listener);
  lameduck(replica.server, {
    cap: Math.min(10_000, flags.gracePeriod / 3),
    grace: flags.gracePeriod,
    log,
    environment: ownEnvironment(),
  })
    // Long polls are in flight. They are answered at once, so that they do not delay the stop.
    .hook("lame-duck", "requests that wait", () => replica.endLongPolls())
    .hook("closed", "coordinator", async () => {
      await keeping.stop();
      await replica.stop();
    });
  await replica.start();
  keeping.start();
}
