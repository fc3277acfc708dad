import { clusterConnection, KubernetesClient } from "@lameduck/kube";
import { lameduck } from "@lameduck/node";
import { readCarrier } from "../carrier/files.ts";
import { helpText, type OperatorFlags, parseFlags } from "./flags.ts";
import { processLog, ownEnvironment, subcommand } from "./subcommand.ts";
import { Operator } from "./operator.ts";

export const webhook = subcommand(helpText, parseFlags, serve);

async function serve(flags: OperatorFlags): Promise<void> {
  const log = processLog(flags);
  const connection = clusterConnection(
    flags.kubeconfig === undefined ? {} : { kubeconfig: flags.kubeconfig },
  );
  const files = flags.carrierDirectory === undefined ? undefined : await readCarrier(flags.carrierDirectory);
  const client = new KubernetesClient(connection);
  const operator = new Operator({ flags, client, connection, files, log });
  // Its senders are a handful of API servers: none lags as a cloud's load balancer does.
  lameduck(operator.server, {
    cap: Math.min(10_000, flags.gracePeriod / 3),
    grace: flags.gracePeriod,
    log,
    environment: ownEnvironment(),
  }).hook("closed", "operator", () => operator.stop());
  await operator.start();
}
