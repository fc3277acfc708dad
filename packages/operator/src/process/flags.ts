import { hostname } from "node:os";
import { parseArgs } from "node:util";
import { messageOf } from "@lameduck/drain/common";
import { parseDuration } from "@lameduck/drain";
import { OperatorError } from "../errors.ts";
import { operatorNames } from "../names.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

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
  --grace-period TIME            terminationGracePeriodSeconds of its own pod (30s)
  --log-level LEVEL              ${logLevels.join(", ")} (info)
  --kubeconfig FILE              for an operator outside the cluster
`;

const text = { type: "string" } as const;

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG @returns none where help is asked for. */
export function parseFlags(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): OperatorFlags | undefined {
  const values = parsed(args);
  if (values.help) return undefined;
  const level = values["log-level"] ?? "info";
  const logLevel = logLevels.find((one) => one === level);
  if (logLevel === undefined) throw badFlag("--log-level", `"${level}" is none of ${logLevels.join(", ")}`);
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
    logLevel,
    kubeconfig: values.kubeconfig,
    name: env["POD_NAME"] || hostname(),
  };
}

function parsed(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: text,
        "metrics-port": text,
        address: text,
        namespace: text,
        service: text,
        secret: text,
        "serve-as": { type: "string", multiple: true },
        "certificate-directory": text,
        "carrier-directory": text,
        "certificate-lifetime": text,
        "authority-lifetime": text,
        "grace-period": text,
        "log-level": text,
        kubeconfig: text,
        help: { type: "boolean", short: "h" },
      },
    });
    if (!values.help && positionals.join(" ") !== "webhook")
      throw badFlag("command", `"${positionals.join(" ")}" is none; there is webhook`);
    return values;
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw badFlag("command line", messageOf(error).split(". ")[0] ?? "");
  }
}

function port(flag: string, said: string | undefined, otherwise: number): number {
  const value = said === undefined ? otherwise : /^\d{1,5}$/.test(said) ? Number(said) : NaN;
  if (!(value <= 65_535)) throw badFlag(flag, `"${said}" is no port`);
  return value;
}

/** Also days: the drain's durations end at hours. */
function time(flag: string, said: string): number {
  const days = /^(\d{1,5})d$/.exec(said)?.[1];
  try {
    const milliseconds = days === undefined ? parseDuration(said, flag) : Number(days) * 86_400_000;
    if (milliseconds >= 1_000) return milliseconds;
  } catch {
    // Told below.
  }
  throw badFlag(flag, `"${said}" is no time of a second or more, such as 12h or 90d`);
}

function badFlag(place: string, problem: string): OperatorError {
  return new OperatorError("LAMEDUCK_OPERATOR_BAD_FLAG", place, problem);
}
