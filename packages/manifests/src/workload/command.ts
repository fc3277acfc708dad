import { basename } from "node:path";
import { ManifestError } from "../errors.ts";
import { defaultStrategy } from "./strategy.ts";
import type { Handler, Probe, Workload } from "./template.ts";

interface CommandOptions {
  /** Default 3. */
  readonly replicas?: number;
  /** The port on which the program listens; default 8080, passed to it as PORT. */
  readonly port?: number;
  /** The path of the readiness probe. Without it the pod is ready when the port accepts a connection. */
  readonly readinessPath?: string;
  /** Default 30, as in Kubernetes. */
  readonly graceSeconds?: number;
  /** Default "web". */
  readonly name?: string;
}

/** The workload of a bare command line: what a Deployment with that command and a readiness probe would be. */
export function manifestFromCommand(argv: readonly string[], options: CommandOptions = {}): Workload {
  const name = options.name ?? "web";
  const port = options.port ?? 8080;
  if (argv.length === 0 || argv[0] === "")
    throw new ManifestError("LAMEDUCK_MANIFEST_NO_COMMAND", "command line", "there is no command to run", {
      remedy: "write it after --, such as: lameduck lab -- node server.js",
    });
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new ManifestError("LAMEDUCK_MANIFEST_INVALID", "port", `${port} is not a port`, {
      remedy: "give 1 to 65535",
    });
  return {
    kind: "Deployment",
    template: {
      name,
      namespace: "default",
      labels: { app: name },
      annotations: {},
      initContainers: [],
      containers: [
        {
          name: basename(argv[0] ?? "app").replace(/[^a-zA-Z0-9-]/g, "-"),
          command: argv.map((word) => word.replaceAll("$$", () => "$$$$")),
          env: [
            { name: "PORT", field: "lab.port" },
            { name: "HOST", field: "lab.host" },
            // Most manifests pass these fields down under these names.
            { name: "POD_NAME", field: "metadata.name" },
            { name: "POD_NAMESPACE", field: "metadata.namespace" },
            { name: "POD_IP", field: "status.podIP" },
            { name: "NODE_NAME", field: "spec.nodeName" },
          ],
          ports: [{ port }],
          readiness: everySecond(
            options.readinessPath === undefined
              ? { kind: "tcp", port }
              : { kind: "http", scheme: "HTTP", port, path: options.readinessPath, headers: [] },
          ),
          mounts: [],
        },
      ],
      graceSeconds: options.graceSeconds ?? 30,
      restartPolicy: "Always",
      emptyDirs: [],
      port,
    },
    replicas: options.replicas ?? 3,
    strategy: defaultStrategy,
    minReadySeconds: 0,
    progressDeadlineSeconds: 600,
    warnings: [],
  };
}

function everySecond(handler: Handler): Probe {
  return {
    handler,
    initialDelaySeconds: 0,
    periodSeconds: 1,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  };
}
