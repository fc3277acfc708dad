import { hostname } from "node:os";
import { help, logLevel, type LogLevel, logLevels, port, text, time } from "./flag-values.ts";

/** Flags that every server of the operator has. */
export interface ServerFlags {
  readonly port: number;
  readonly metricsPort: number;
  readonly address: string | undefined;
  readonly namespace: string | undefined;
  /** Milliseconds. */
  readonly gracePeriod: number;
  readonly logLevel: LogLevel;
  readonly kubeconfig: string | undefined;
  /** This replica. */
  readonly name: string;
}

export const serverOptions = {
  port: text,
  "metrics-port": text,
  address: text,
  namespace: text,
  "grace-period": text,
  "log-level": text,
  kubeconfig: text,
  help,
};

/** The last lines of a server's help. */
export const serverHelp = `  --grace-period TIME            terminationGracePeriodSeconds of this process's own pod (30s)
  --log-level LEVEL              ${logLevels.join(", ")} (info)`;

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function serverFlags(
  values: { readonly [flag in Exclude<keyof typeof serverOptions, "help">]?: string },
  otherwise: { readonly port: number; readonly metrics: number },
  env: NodeJS.ProcessEnv,
): ServerFlags {
  return {
    port: port("--port", values.port, otherwise.port),
    metricsPort: port("--metrics-port", values["metrics-port"], otherwise.metrics),
    address: values.address,
    namespace: values.namespace,
    gracePeriod: time("--grace-period", values["grace-period"] ?? "30s"),
    logLevel: logLevel(values["log-level"]),
    kubeconfig: values.kubeconfig,
    name: env["POD_NAME"] || hostname(),
  };
}
