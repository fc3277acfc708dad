import { operatorNames } from "../names.ts";
import { badFlag, flagsIn, text, texts, time } from "./flag-values.ts";
import { serverFlags, type ServerFlags, serverHelp, serverOptions } from "./server-flags.ts";
import { holdingFlags, holdingHelp, holdingOptions, type HoldingFlags } from "./holding-flags.ts";

export interface OperatorFlags extends ServerFlags {
  readonly service: string;
  readonly secret: string;
  readonly serveAs: readonly string[];
  readonly certificateDirectory: string | undefined;
  readonly carrierDirectory: string | undefined;
  /** Milliseconds. */
  readonly certificateLifetime: number;
  readonly authorityLifetime: number;
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
${serverHelp}
  --kubeconfig FILE              for an operator outside the cluster

${holdingHelp}`;

const options = {
  ...serverOptions,
  service: text,
  secret: text,
  "serve-as": texts,
  "certificate-directory": text,
  "carrier-directory": text,
  "certificate-lifetime": text,
  "authority-lifetime": text,
  coordinator: text,
  ...holdingOptions,
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
    ...serverFlags(values, { port: operatorNames.ports.webhook, metrics: operatorNames.ports.metrics }, env),
    service: values.service ?? operatorNames.service,
    secret: values.secret ?? operatorNames.certificateSecret,
    serveAs: values["serve-as"] ?? [],
    certificateDirectory: values["certificate-directory"],
    carrierDirectory: values["carrier-directory"],
    certificateLifetime,
    authorityLifetime,
    holding: holdingFlags(values),
    coordinator: coordinatorUrl(values.coordinator),
  };
}

function coordinatorUrl(said: string | undefined): string | undefined {
  if (said === undefined || /^http:\/\/[^/\s]+$/.test(said)) return said;
  throw badFlag("--coordinator", `"${said}" is no URL such as http://lameduck-coordinator:8070`);
}
