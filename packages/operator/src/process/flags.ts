import { hostname } from "node:os";
import { operatorNames } from "../names.ts";
import {
  badFlag,
  flagsIn,
  help,
  logLevel,
  type LogLevel,
  logLevels,
  port,
  text,
  texts,
  time,
} from "./flag-values.ts";
import { holdingFlags, holdingHelp, holdingOptions, type HoldingFlags } from "./holding-flags.ts";

export interface OperatorFlags {
  readonly port: number;
  readonly metricsPort: number;
  readonly address: string | undefined;
  readonly namespace: string | undefined;
  readonly service: string;
  readonly secret: string;
  readonly serveAs: readonly string[];
  readonly certificateDirectory: string | undefined;
  readonly carrierDirectory: string | undefined;
  /** Milliseconds. */
  readonly certificateLifetime: number;
  readonly authorityLifetime: number;
  readonly gracePeriod: number;
  readonly logLevel: LogLevel;
  readonly kubeconfig: string | undefined;
  /** This replica. */
  readonly name: string;
  readonly holding: HoldingFlags | undefined;
  /** URL: pods are told to ask it, and held deletions do. */
  readonly coordinator: string | undefined;
}

export const helpText = `lameduck-operator webhook [flags]

Answers the API server when pods are made in namespaces labelled lameduck.dev/inject=enabled, and
injects the drain. Nothing is blocked while it is down: docs/operator.md.

  --port PORT                    HTTPS for the API server, /readyz and /livez (${operatorNames.ports.webhook})
  --metrics-port PORT            HTTP: /metrics, /readyz and /livez (${operatorNames.ports.metrics})
  --address ADDRESS              to listen on (all)
  --namespace NAME               of Service, Secret and Lease (that of the service account)
  --service NAME                 that the certificate names (${operatorNames.service})
  --secret NAME                  of the certificates (${operatorNames.certificateSecret})
  --serve-as NAME                another name or address in the certificate; may be repeated
  --certificate-directory DIR    tls.crt and tls.key of somebody else, cert-manager for example
  --carrier-directory DIR        its files go into the ConfigMap lameduck-init of each namespace
  --certificate-lifetime TIME    90d; it is made anew after two thirds
  --authority-lifetime TIME      730d
  --coordinator URL              pods ask it whether all senders have let go of them
                                 (docs/acknowledgements.md), and so do held deletions
  --grace-period TIME            terminationGracePeriodSeconds of its own pod (30s)
  --log-level LEVEL              ${logLevels.join(", ")} (info)
  --kubeconfig FILE              for an operator outside the cluster

${holdingHelp}`;

const options = {
  port: text,
  "metrics-port": text,
  address: text,
  namespace: text,
  service: text,
  secret: text,
  "serve-as": texts,
  "certificate-directory": text,
  "carrier-directory": text,
  "certificate-lifetime": text,
  "authority-lifetime": text,
  "grace-period": text,
  "log-level": text,
  kubeconfig: text,
  coordinator: text,
  ...holdingOptions,
  help,
};

/** Of `webhook`. @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG @returns none where help is asked for. */
export function parseFlags(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): OperatorFlags | undefined {
  const values = flagsIn(args, options);
  if (values.help) return undefined;
  const certificateLifetime = time("--certificate-lifetime", values["certificate-lifetime"] ?? "90d");
  const authorityLifetime = time("--authority-lifetime", values["authority-lifetime"] ?? "730d");
  if (certificateLifetime > authorityLifetime)
    throw badFlag("--certificate-lifetime", "a certificate does not outlive its authority");
  return {
    port: port("--port", values.port, operatorNames.ports.webhook),
    metricsPort: port("--metrics-port", values["metrics-port"], operatorNames.ports.metrics),
    address: values.address,
    namespace: values.namespace,
    service: values.service ?? operatorNames.service,
    secret: values.secret ?? operatorNames.certificateSecret,
    serveAs: values["serve-as"] ?? [],
    certificateDirectory: values["certificate-directory"],
    carrierDirectory: values["carrier-directory"],
    certificateLifetime,
    authorityLifetime,
    gracePeriod: time("--grace-period", values["grace-period"] ?? "30s"),
    logLevel: logLevel(values["log-level"]),
    kubeconfig: values.kubeconfig,
    name: env["POD_NAME"] || hostname(),
    holding: holdingFlags(values),
    coordinator: coordinatorUrl(values.coordinator),
  };
}

function coordinatorUrl(said: string | undefined): string | undefined {
  if (said === undefined || /^http:\/\/[^/\s]+$/.test(said)) return said;
  throw badFlag("--coordinator", `"${said}" is no URL such as http://lameduck-coordinator:8070`);
}
