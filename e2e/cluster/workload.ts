import { nodeImage } from "./images/catalogue.ts";

export interface ServerOptions {
  readonly name: string;
  readonly replicas: number;
  /** Environment of the sample server: SHUTDOWN, SLOW_SHARE ... (images/samples/server.mjs). */
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables that the kubelet fills with a field of the pod, as "metadata.uid". */
  readonly fields?: Readonly<Record<string, string>>;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly lifecycle?: object;
  readonly gracePeriodSeconds?: number;
  readonly strategy?: object;
  /** requests.cpu of the container; "100m" unless given. */
  readonly cpuRequest?: string;
  /** limits.cpu of the container, as in "100m". */
  readonly cpuLimit?: string;
  readonly minReadySeconds?: number;
  readonly livenessProbe?: object;
  readonly volumes?: readonly object[];
  readonly volumeMounts?: readonly object[];
}

/** An object to be sent to the API server. */
export interface Manifest {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const port = 8080;

/** A Deployment of the sample server, probed each second. */
export function deployment(options: ServerOptions): Manifest {
  const labels = { app: options.name };
  const environment = [
    ...Object.entries(options.environment ?? {}).map(([name, value]) => ({ name, value })),
    ...Object.entries(options.fields ?? {}).map(([name, fieldPath]) => ({
      name,
      valueFrom: { fieldRef: { fieldPath } },
    })),
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: options.name, labels },
    spec: {
      replicas: options.replicas,
      selector: { matchLabels: labels },
      ...(options.minReadySeconds === undefined ? {} : { minReadySeconds: options.minReadySeconds }),
      ...(options.strategy === undefined ? {} : { strategy: options.strategy }),
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: options.gracePeriodSeconds ?? 30,
          containers: [
            {
              name: "server",
              image: options.image ?? nodeImage,
              args: options.args ?? ["/app/server.mjs"],
              ...(options.command === undefined ? {} : { command: options.command }),
              env: environment,
              ports: [{ name: "http", containerPort: port }],
              // Small, but not nothing: pods without requests are never preempted.
              resources: {
                requests: { cpu: options.cpuRequest ?? "100m" },
                ...(options.cpuLimit === undefined ? {} : { limits: { cpu: options.cpuLimit } }),
              },
              ...(options.livenessProbe === undefined ? {} : { livenessProbe: options.livenessProbe }),
              readinessProbe: { httpGet: { path: "/readyz", port: "http" }, periodSeconds: 1 },
              ...(options.lifecycle === undefined ? {} : { lifecycle: options.lifecycle }),
              ...(options.volumeMounts === undefined ? {} : { volumeMounts: options.volumeMounts }),
            },
          ],
          ...(options.volumes === undefined ? {} : { volumes: options.volumes }),
        },
      },
    },
  };
}

/** Its Service on port 80; headless, its pods' addresses stand in the DNS instead of one of its own. */
export function service(
  name: string,
  options: { headless?: boolean; type?: string; selects?: string } = {},
): Manifest {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: {
      selector: { app: options.selects ?? name },
      ports: [{ name: "http", port: 80, targetPort: port }],
      ...(options.headless ? { clusterIP: "None" } : {}),
      ...(options.type === undefined ? {} : { type: options.type }),
    },
  };
}

/** One field of each pod of an app, such as "metadata.name". */
export async function podFields(
  cluster: { field(of: readonly string[], path: string): Promise<string> },
  app: string,
  field: string,
  which = "*",
): Promise<string[]> {
  const output = await cluster.field(["pods", "-l", `app=${app}`], `{.items[${which}].${field}}`);
  return output.split(" ").filter((value) => value !== "");
}
