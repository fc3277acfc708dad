import { operatorNames } from "@lameduck/protocol";
import {
  badFlag,
  parseFlags,
  text,
  texts,
  time,
  serverFlags,
  type ServerFlags,
  serverHelp,
  serverOptions,
} from "@lameduck/program";
import { holdingFlags, holdingHelp, holdingOptions, type HoldingFlags } from "./holding-flags.ts";

export interface WebhookFlags extends ServerFlags {
  readonly serveAs: readonly string[];
  readonly certificateDirectory: string | undefined;
  readonly initDirectory: string | undefined;
  /** Milliseconds. */
  readonly certificateLifetime: number;
  readonly authorityLifetime: number;
  readonly holding: HoldingFlags | undefined;
  /** URL: pods are told to ask it, and held deletions do. */
  readonly coordinator: string | undefined;
  /** Between two audits of what runs in injected namespaces; none where that is off. */
  readonly auditEveryMs: number | undefined;
}

export const helpText = `lameduck-operator webhook [flags]

Injects the hold into new pods of namespaces with the label lameduck.dev/inject=enabled, when the
API server asks. While it is down pods start without the hold. More: docs/contributing/operator.md

  lameduck-operator webhook --init-directory /init-volume

Defaults are in brackets. A TIME has a unit: 30s, 90d. It runs until SIGTERM.

  --port PORT                    HTTPS for the API server, /readyz and /livez (${operatorNames.ports.webhook})
  --metrics-port PORT            HTTP with /metrics, /readyz and /livez (${operatorNames.ports.metrics})
  --address ADDRESS              address to listen on (all)
  --namespace NAME               namespace of Service, Secret and Lease (that of the service account)
  --serve-as NAME                another name or address for the certificate; may be repeated
  --certificate-directory DIR    use tls.crt and tls.key of this folder, as cert-manager writes them
                                 (none: it makes its own certificates)
  --init-directory DIR           copy the files of this folder into the ConfigMap lameduck-init of each
                                 labelled namespace (none: it copies nothing)
  --certificate-lifetime TIME    lifetime of the certificate; renewed after two thirds (90d)
  --authority-lifetime TIME      lifetime of the authority; renewed after two thirds (730d)
  --coordinator URL              coordinator that pods and held deletions ask: docs/operate/acknowledgements.md
                                 (none: pods decide by their own evidence)
  --audit-every TIME             audit the workloads of labelled namespaces so often, and tell of those that
                                 will lose requests: docs/operate/drain-reports.md (none: it audits nothing)
${serverHelp}
  --kubeconfig FILE              kubeconfig, outside a cluster (the service account)

${holdingHelp}`;

const options = {
  ...serverOptions,
  "serve-as": texts,
  "certificate-directory": text,
  "init-directory": text,
  "certificate-lifetime": text,
  "authority-lifetime": text,
  coordinator: text,
  "audit-every": text,
  ...holdingOptions,
};

/** Of `webhook`. @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG @returns none where help is asked for. */
export function webhookFlags(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): WebhookFlags | undefined {
  const values = parseFlags(args, options);
  if (values.help) return undefined;
  const certificateLifetime = time("--certificate-lifetime", values["certificate-lifetime"] ?? "90d");
  const authorityLifetime = time("--authority-lifetime", values["authority-lifetime"] ?? "730d");
  if (certificateLifetime > authorityLifetime)
    throw badFlag("--certificate-lifetime", "is longer than --authority-lifetime");
  return {
    ...serverFlags(values, { port: operatorNames.ports.webhook, metrics: operatorNames.ports.metrics }, env),
    serveAs: values["serve-as"] ?? [],
    certificateDirectory: values["certificate-directory"],
    initDirectory: values["init-directory"],
    certificateLifetime,
    authorityLifetime,
    holding: holdingFlags(values),
    coordinator: coordinatorUrl(values.coordinator),
    auditEveryMs:
      values["audit-every"] === undefined ? undefined : time("--audit-every", values["audit-every"]),
  };
}

function coordinatorUrl(value: string | undefined): string | undefined {
  if (value === undefined || /^http:\/\/[^/\s]+$/.test(value)) return value;
  throw badFlag("--coordinator", `"${value}" is no URL such as http://lameduck-coordinator:8070`);
}
