import fc from "fast-check";

type Pod = Record<string, unknown>;

const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, { nil: undefined });

const rare = <T>(value: T): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(value) });

const mostly = <T, U>(usual: fc.Arbitrary<T>, seldom: fc.Arbitrary<U>): fc.Arbitrary<T | U> =>
  fc.oneof({ weight: 11, arbitrary: usual }, { weight: 1, arbitrary: seldom });

const images = [
  "registry.example/team/shop:1.2",
  "nginx",
  "docker.io/library/nginx:1.29",
  "registry.example:5000/nginx@sha256:0000000000000000000000000000000000000000000000000000000000000000",
  "haproxy:3.2",
  "registry.example/haproxy",
  "registry.example/php:8-fpm",
  "node:24",
  "httpd",
  "postgres:17",
  "python:3.13-slim",
  "docker.io/istio/proxyv2:1.27",
  "gcr.io/cloud-sql-connectors/cloud-sql-proxy:2",
];

const commands = [
  ["/usr/sbin/haproxy", "-W"],
  ["nginx", "-g", "daemon off;"],
  ["node", "server.js"],
  ["sh", "-c", "exec haproxy"],
  ["python3", "-m", "http.server"],
];

/** With a Lameduck of their own. */
const ownCommands = [
  ["/usr/local/bin/node", "--import", "@lameduck/node/register", "server.js"],
  ["lameduck-init", "--", "server"],
];

const hooks = [
  { sleep: { seconds: 0 } },
  { sleep: { seconds: 5 } },
  { exec: { command: ["sleep", "4"] } },
  { exec: { command: ["sh", "-c", "sleep 50; nginx -s quit"] } },
  { exec: { command: ["sh", "-c", "echo stopping; sleep 40; kill -TERM 1"] } },
  { exec: { command: ["nginx", "-s", "quit"] } },
  { exec: { command: ["/lameduck-init", "wait"] } },
  { httpGet: { path: "/drain", port: 8080 } },
];

const variables = [
  { name: "NODE_OPTIONS", value: "--enable-source-maps" },
  { name: "NODE_OPTIONS" },
  { name: "NODE_OPTIONS", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  { name: "LAMEDUCK_PORT", value: "tcp://10.0.0.1:80" },
  { name: "COLOUR", value: "green" },
];

const ownVariables = [
  { name: "NODE_OPTIONS", value: "--import=@lameduck/node/register" },
  { name: "LAMEDUCK_GRACE_PERIOD", value: "60s" },
  { name: "LAMEDUCK_PRESTOP", value: "3s" },
  { name: "LAMEDUCK_PROBE_PERIOD", value: "10s" },
];

const ports = [
  { containerPort: 8080 },
  { containerPort: 9090, name: "metrics" },
  { containerPort: 53, protocol: "UDP" },
  { containerPort: 8443, name: "https" },
];

const probes = [
  { httpGet: { path: "/", port: 8080 } },
  { httpGet: { path: "/", port: 8080 }, periodSeconds: 5 },
  { grpc: { port: 8080 }, periodSeconds: 3_601 },
  { tcpSocket: { port: 8080 }, periodSeconds: 3 },
  { exec: { command: ["true"] } },
];

const values: Readonly<Record<string, readonly string[]>> = {
  "lameduck.dev/inject": ["true", "false", "yes"],
  "lameduck.dev/serves": ["true", "false", "perhaps"],
  "lameduck.dev/node-shutdown": ["15s", "2s", "1s", "5m", "15"],
  "lameduck.dev/cap": ["40s", "2m", "40", "0s", "99999s", "-1s", "1h"],
  "lameduck.dev/floor": ["2s", "1m", "0s", "5"],
  "lameduck.dev/reserve": ["10s", "1s", "9m", "none"],
  "lameduck.dev/grace-period": ["20s", "90s", "99m", "90 s"],
  "lameduck.dev/convergence": ["7s", "120s", "500ms", "1s"],
  "lameduck.dev/init-volume": ["configmap", "none", "image-volume", "init-container", "floppy"],
  "lameduck.dev/instrument-node": ["true", "false", "1"],
  "lameduck.dev/injected": ["0.0.9"],
  "example.com/other": ["'; drop"],
};

const annotations: fc.Arbitrary<object> = fc
  .record(Object.fromEntries(Object.entries(values).map(([key, of]) => [key, fc.constantFrom(...of)])), {
    requiredKeys: [],
  })
  // Most pods of a cluster say nothing, or one thing.
  .chain((all) => fc.subarray(Object.entries(all), { maxLength: Math.min(3, Object.keys(all).length) }))
  .map((some) => Object.fromEntries(some));

const names = ["app", "web", "istio-proxy", "linkerd-proxy", "cache"];

/** Without its name: no two containers of a pod share one. */
const container = fc
  .record({
    image: fc.constantFrom(...images),
    command: mostly(maybe(fc.constantFrom(...commands)), fc.constantFrom(...ownCommands)),
    args: mostly(maybe(fc.constant(["--verbose"])), fc.constant(["--import=/x/lameduck-register.cjs"])),
    lifecycle: fc.oneof(
      { weight: 4, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant({ postStart: { exec: { command: ["true"] } } }) },
      { weight: 1, arbitrary: fc.constantFrom(...hooks).map((preStop) => ({ preStop })) },
    ),
    env: mostly(
      maybe(fc.uniqueArray(fc.constantFrom(...variables), { selector: ({ name }) => name, maxLength: 3 })),
      fc.constantFrom(...ownVariables).map((one) => [one]),
    ),
    envFrom: fc.oneof(
      { weight: 6, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant([{ configMapRef: { name: "settings" } }]) },
    ),
    ports: maybe(fc.uniqueArray(fc.constantFrom(...ports), { maxLength: 2 })),
    readinessProbe: maybe(fc.constantFrom(...probes)),
    livenessProbe: mostly(fc.constant(undefined), fc.constantFrom(...probes)),
    startupProbe: rare(probes[1]),
    volumeMounts: fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constant([{ name: "data", mountPath: "/data" }]) },
      { weight: 1, arbitrary: fc.constant([{ name: "data", mountPath: "/lameduck/own" }]) },
    ),
    volumeDevices: rare([{ name: "disk", devicePath: "/lameduck" }]),
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));

/** More than a sidecar can wait for, behind it or before. */
const many = ["istio-proxy", ...Array.from({ length: 9 }, (_, index) => `app-${index}`), "linkerd-proxy"];

const containers = fc
  .oneof(
    { weight: 30, arbitrary: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.constant(many) },
  )
  .chain((chosen) => fc.tuple(...chosen.map((name) => container.map((rest) => ({ name, ...rest })))));

/** Pods as people write them, with what injection looks at in many ways; all of them are valid. */
export const pods: fc.Arbitrary<Pod> = fc
  .record({
    annotations: maybe(annotations),
    labels: fc.oneof(
      rare({ "lameduck.dev/inject": "disabled" }),
      rare({ "lameduck.dev/inject": "false" }),
      rare({ "lameduck.dev/inject": "enabled" }),
    ),
    owners: rare([{ apiVersion: "batch/v1", kind: "Job", name: "nightly", uid: "u-1" }]),
    containers,
    sidecar: rare({ name: "logs", image: "registry.example/logs", restartPolicy: "Always" }),
    grace: fc.constantFrom(undefined, undefined, undefined, undefined, 0, 1, 5, 30, 30, 60, 599, 3_600),
    restartPolicy: rare("Never"),
    deadline: rare(60),
    hostNetwork: rare(true),
    nodeSelector: fc.constantFrom(
      ...Array.from({ length: 9 }, () => undefined),
      { "kubernetes.io/arch": "arm64" },
      { "kubernetes.io/arch": "s390x" },
      { "kubernetes.io/os": "windows" },
      { zone: "a" },
    ),
  })
  // Without parts that two of them share.
  .map((one) => JSON.parse(JSON.stringify(podOf(one))) as Pod);

function podOf(one: {
  readonly annotations: object | undefined;
  readonly labels: object | undefined;
  readonly owners: object | undefined;
  readonly containers: readonly object[];
  readonly sidecar: object | undefined;
  readonly grace: number | undefined;
  readonly restartPolicy: string | undefined;
  readonly deadline: number | undefined;
  readonly hostNetwork: boolean | undefined;
  readonly nodeSelector: object | undefined;
}): Pod {
  const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  // The API server wants a sleep to end before the grace period does.
  const sleeps = JSON.stringify(one.containers).includes('"seconds":5');
  const grace = sleeps && (one.grace ?? 30) <= 5 ? undefined : one.grace;
  const uses = (key: string): boolean => one.containers.some((each) => key in each);
  const volumes = [
    ...(uses("volumeMounts") ? [{ name: "data", emptyDir: {} }] : []),
    ...(uses("volumeDevices") ? [{ name: "disk", persistentVolumeClaim: { claimName: "disk" } }] : []),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: given({
      name: "generated",
      annotations: one.annotations,
      labels: one.labels,
      ownerReferences: one.owners,
    }),
    spec: given({
      automountServiceAccountToken: false,
      containers: one.hostNetwork
        ? one.containers.map((each, index) => withHostPorts(each, index))
        : one.containers,
      initContainers: one.sidecar && [one.sidecar],
      volumes: volumes.length > 0 ? volumes : undefined,
      terminationGracePeriodSeconds: grace,
      restartPolicy: one.restartPolicy,
      activeDeadlineSeconds: one.deadline,
      hostNetwork: one.hostNetwork,
      nodeSelector: one.nodeSelector,
    }),
  };
}

/** The API server wants them equal on the host's network. */
function withHostPorts(container: object, index: number): object {
  const { ports: own, ...rest } = container as {
    readonly ports?: readonly { readonly containerPort: number }[];
  };
  // No two containers share one.
  return own === undefined || index > 0
    ? rest
    : { ...rest, ports: own.map((port) => ({ ...port, hostPort: port.containerPort })) };
}

/** The same pods on every run. */
export function generatedPods(count: number): readonly Pod[] {
  return fc.sample(pods, { numRuns: count, seed: 20_261_124 });
}
