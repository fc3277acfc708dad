/** The operator's process: `node lameduck-operator.cjs webhook`. docs/operator.md describes it. */
import { LameduckError } from "@lameduck/drain/common";
import { clusterConnection, KubernetesClient, KubernetesError } from "@lameduck/kube";
import { lameduck } from "@lameduck/node";
import { destination, pino } from "pino";
import { readCarrier } from "./carrier/files.ts";
import { helpText, parseFlags, type OperatorFlags } from "./process/flags.ts";
import { Operator } from "./process/operator.ts";

const exitCodes = { usage: 2, internal: 3, environment: 4 } as const;

async function run(flags: OperatorFlags): Promise<void> {
  // Synchronous: what is written last must not be lost at the exit.
  const log = pino(
    { level: flags.logLevel, base: { pod: flags.name } },
    destination({ dest: 2, sync: true }),
  );
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
    // A Service of any name sets variables like ours.
    environment: { KUBERNETES_SERVICE_HOST: process.env["KUBERNETES_SERVICE_HOST"] },
  }).hook("closed", "operator", () => operator.stop());
  await operator.start();
}

async function main(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args);
  if (flags) await run(flags);
  else process.stdout.write(helpText);
}

function fail(error: unknown): void {
  const isTold = error instanceof LameduckError;
  const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${isTold ? `${error.code} ${error.message}\n  ${error.remedy}` : words}\n`);
  const isOutside =
    error instanceof KubernetesError || (error as NodeJS.ErrnoException | undefined)?.syscall === "listen";
  process.exit(isOutside ? exitCodes.environment : isTold ? exitCodes.usage : exitCodes.internal);
}

// No `await` here: the file is bundled as CommonJS.
main(process.argv.slice(2)).catch(fail);
