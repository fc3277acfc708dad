import { policyKinds, type Option } from "./option.ts";

type Rows = Readonly<Record<string, Option>>;

const hourSeconds = 3_600;
const daySeconds = 86_400;

/** A file of an order among containers, or a socket. */
const path = { kind: "path" } as const;

const whenToStop = {
  policy: {
    kind: "choice",
    choices: policyKinds,
    default: "adaptive",
    text: "adaptive (default), quiet, fixed, until-deadline, acknowledged (needs `coordinator`)",
    byDefault: "",
    decides: true,
    variable: "LAMEDUCK_POLICY",
    library: {},
    init: { flag: "policy", value: "P" },
  },
  grace: {
    kind: "duration",
    default: 30_000,
    text: "terminationGracePeriodSeconds of the pod",
    decides: true,
    bound: true,
    variable: "LAMEDUCK_GRACE_PERIOD",
    library: {},
    init: { flag: "grace" },
    field: {
      name: "gracePeriodSeconds",
      annotation: "grace-period",
      least: 1,
      most: daySeconds,
      text: "grace period of injected pods, where theirs is shorter; default: hold + reserve",
    },
  },
  prestop: {
    kind: "duration",
    default: 0,
    text: "part of `grace` that preStop hooks use before the signal",
    decides: true,
    bound: true,
    variable: "LAMEDUCK_PRESTOP",
    library: {},
    init: { flag: "prestop" },
  },
  reserve: {
    kind: "duration",
    default: 5_000,
    text: "part of `grace` kept for the program's own shutdown",
    byDefault: "5s, or a third if that is less",
    more: "The third is of what preStop hooks leave.",
    decides: true,
    bound: true,
    variable: "LAMEDUCK_RESERVE",
    library: {},
    init: { flag: "reserve" },
    field: {
      name: "reserveSeconds",
      annotation: "reserve",
      least: 1,
      most: daySeconds,
      text: "kept after the hold for the container's own shutdown; default: the grace period that the pod has today",
    },
  },
  floor: {
    kind: "duration",
    default: 1_000,
    text: "shortest hold",
    more: "Time in preStop hooks counts towards it.",
    decides: true,
    bound: true,
    variable: "LAMEDUCK_FLOOR",
    library: {},
    init: { flag: "floor" },
    field: { name: "floorSeconds", annotation: "floor", least: 0, most: hourSeconds, handedOn: true },
  },
  cap: {
    kind: "duration",
    text: "longest hold",
    byDefault: "grace - prestop - reserve",
    more: "If a sleep has always been long enough, set it here.",
    decides: true,
    bound: true,
    variable: "LAMEDUCK_CAP",
    library: {},
    init: { flag: "cap" },
    field: {
      name: "capSeconds",
      annotation: "cap",
      least: 1,
      most: hourSeconds,
      text: "longest hold; default: 1.5 x convergence, and 25 at least",
    },
  },
  lossBudget: {
    kind: "number",
    // 300 terminations without a loss need a budget near 2e-4 * (rate * convergence + 1); see docs/contributing/decision.md.
    default: 0.001,
    text: "requests that a termination may lose on average",
    more: "They are counted within one `convergence` after the stop.",
    decides: true,
    policies: ["adaptive", "acknowledged"],
    variable: "LAMEDUCK_LOSS_BUDGET",
    library: {},
    init: { flag: "loss-budget", value: "N" },
  },
  convergence: {
    kind: "duration",
    default: 4_000,
    aboveZero: true,
    text: "mean time until a sender stops sending",
    decides: true,
    policies: ["adaptive", "acknowledged"],
    variable: "LAMEDUCK_CONVERGENCE",
    library: {},
    init: { flag: "convergence" },
  },
  learnt: {
    kind: "own",
    text: "what earlier terminations have taught, as `learn` gives it",
    byDefault: "",
    decides: true,
    policies: ["adaptive", "acknowledged"],
    library: { type: "Learnt | null" },
  },
  window: {
    kind: "duration",
    default: 5_000,
    text: "stop when nothing has arrived for this time",
    decides: true,
    policies: ["quiet"],
    variable: "LAMEDUCK_WINDOW",
    library: {},
    init: { flag: "window" },
  },
  delay: {
    kind: "duration",
    text: "length of the hold",
    decides: true,
    policies: ["fixed"],
    variable: "LAMEDUCK_DELAY",
    library: {},
    init: { flag: "delay" },
  },
  requestQuiet: {
    kind: "duration",
    default: 1_000,
    text: "old connections must have been silent for this time",
    decides: true,
    variable: "LAMEDUCK_REQUEST_QUIET",
    library: {},
    init: { flag: "request-quiet" },
  },
  timeout: {
    kind: "duration",
    text: "longest time for hold and closing together",
    byDefault: "grace - prestop",
    library: {},
  },
  waitForStreams: {
    kind: "choice",
    choices: ["ignore", "wait"],
    default: "ignore",
    text: "connections that never fall silent: ignore (default) or wait",
    byDefault: "",
    init: { flag: "streams", value: "S", keeps: "streams", holds: true },
  },
  stopSignal: {
    kind: "own",
    text: "the signal that begins a hold",
    byDefault: "TERM; images may set another as STOPSIGNAL",
    init: { flag: "stop-signal", value: "SIG", reads: "read_stop_signal", holds: true },
  },
  signals: {
    kind: "own",
    text: "the signals that begin a hold",
    byDefault: "SIGTERM; in a pod SIGINT, too, unless it may be somebody's Ctrl-C",
    more: "False listens to none: call terminate().",
    variable: "LAMEDUCK_SIGNALS",
    library: { type: "boolean | readonly NodeJS.Signals[]" },
  },
  otherHandlers: {
    kind: "choice",
    choices: ["hold", "leave"],
    default: "hold",
    text: "SIGTERM handlers of others run when the hold is over (hold) or at once (leave)",
    library: {},
  },
  crashes: {
    kind: "choice",
    choices: ["leave", "close"],
    default: "leave",
    text: "an error that nobody catches ends the process at once (leave), or in order (close)",
    more: "In order means without a hold, within the reserve, with exit code 1.",
    variable: "LAMEDUCK_CRASHES",
    library: {},
  },
  thenSignal: {
    kind: "own",
    text: "wait: send SIG to the container's PID 1 after the hold, and wait until it has ended",
    init: { flag: "then", value: "SIG", reads: "read_then" },
  },
  noHold: {
    kind: "switch",
    text: "pass every signal on at once",
    init: { flag: "no-hold", keeps: "no_hold" },
  },
  exit: {
    kind: "switch",
    default: true,
    text: "exit with `process.exitCode` or 0 when every lameduck() of the process has ended",
    library: {},
  },
} as const satisfies Rows;

const traffic = {
  port: {
    kind: "own",
    text: "count only this port, or these: 80,443",
    byDefault: "default: all ports on which the program listens",
    init: { flag: "port", value: "N", reads: "read_port", holds: true },
  },
  ignorePort: {
    kind: "own",
    text: "do not count this port, such as that of metrics",
    init: { flag: "ignore-port", value: "N", reads: "read_ignored_port", holds: true },
  },
  ignorePeer: {
    kind: "own",
    text: 'do not count this source; "gateway": the default gateway, from which many kubelets probe',
    init: { flag: "ignore-peer", value: "CIDR", reads: "read_ignored_peer", holds: true },
  },
  probePeriod: {
    kind: "duration",
    text: "periodSeconds of the kubelet's httpGet or grpc probe, once for each",
    // Kubernetes' own.
    default: 10_000,
    byDefault: "assumed: 10s",
    init: { flag: "probe-period", reads: "read_probe_period", holds: true },
  },
  ignoreSocket: {
    ...path,
    text: "do not count this Unix socket, or those below this directory (/: none counts)",
    init: { flag: "ignore-socket", value: "P", reads: "read_ignored_socket", holds: true },
  },
  maxSenders: {
    kind: "whole number",
    default: 128,
    least: 1,
    // An arrival is looked up among all of them.
    most: 4_096,
    text: "senders tracked one by one",
    more: "Where there are more, those that come often.",
    decides: true,
    variable: "LAMEDUCK_MAX_SENDERS",
    library: {},
    init: { flag: "max-senders", value: "N" },
  },
  probes: {
    kind: "own",
    text: "which requests are probes and hence no traffic, beside the well-known ones",
    more: "The variable lists paths.",
    variable: "LAMEDUCK_PROBES",
    library: { type: "ProbeOptions", shape: "{ paths, userAgents, match }" },
  },
  streams: {
    kind: "own",
    text: "which answers last as long as the client likes, beside server-sent events",
    more: "The variable lists paths.",
    variable: "LAMEDUCK_STREAM_PATHS",
    library: { type: "StreamOptions", shape: "{ paths, match }" },
  },
  lbHealth: {
    kind: "own",
    text: "a health path that fails from SIGTERM on, and how long the load balancer takes to notice",
    more: "Without `path` see `readiness()`.",
    library: { type: "FailingHealth", shape: "{ path, status, wait }" },
  },
  ramp: {
    kind: "duration",
    default: 1_000,
    text: "in this time all clients are asked to leave, so that pools do not all reconnect at once",
    library: {},
  },
  spread: {
    kind: "duration",
    text: "after the hold, WebSockets and streams without an end are ended over this time, at an even rate",
    byDefault: "one a millisecond, 5s at most",
    more: "It is a part of `grace` beside `reserve`.",
    variable: "LAMEDUCK_SPREAD",
    library: {},
  },
} as const satisfies Rows;

const acknowledgements = {
  coordinator: {
    kind: "own",
    text: 'where the cluster says whether all senders have stopped sending to this pod, "http://HOST:PORT"',
    more: "False asks nobody. The pod's name, namespace and uid are in its environment.",
    byDefault: "",
    variable: "LAMEDUCK_COORDINATOR",
    injected: true,
    library: { type: "string | false" },
    init: {
      flag: "coordinator",
      value: "URL",
      keeps: "hold.place.url",
      holds: true,
      text: "ask it whether a sender still sends to the pod, such as\nhttp://lameduck-coordinator.lameduck-system.svc:8070",
    },
  },
  podName: {
    kind: "text",
    text: "this pod, from the downward API",
    variable: "LAMEDUCK_POD_NAME",
    injected: true,
    library: { partOf: "coordinator" },
    init: {
      flag: "pod-name",
      value: "N",
      keeps: "hold.place.pod",
      shownAs: "--pod-name N, --pod-namespace N, --pod-uid U",
    },
  },
  podNamespace: {
    kind: "text",
    text: "its namespace",
    variable: "LAMEDUCK_POD_NAMESPACE",
    injected: true,
    library: { partOf: "coordinator" },
    init: { flag: "pod-namespace", value: "N", keeps: "hold.place.pod_namespace", shownAs: "" },
  },
  podUid: {
    kind: "text",
    text: "its uid",
    variable: "LAMEDUCK_POD_UID",
    injected: true,
    library: { partOf: "coordinator" },
    init: { flag: "pod-uid", value: "U", keeps: "hold.place.pod_uid", shownAs: "" },
  },
  coordinatorTokenFile: {
    kind: "text",
    text: "a projected token, for pods whose address does not show who they are",
    variable: "LAMEDUCK_COORDINATOR_TOKEN_FILE",
    injected: true,
    library: { partOf: "coordinator" },
  },
  mode: {
    kind: "choice",
    choices: ["availability", "consistency"],
    default: "availability",
    text: "policy acknowledged, while the cluster cannot release the pod: evidence decides (availability), or the cap",
    variable: "LAMEDUCK_MODE",
    library: {},
    init: {
      flag: "mode",
      value: "M",
      keeps: "mode",
      holds: true,
      text: "`policy` acknowledged, while the coordinator is silent or cannot release the pod:\navailability (default) decides as adaptive does, consistency waits for the cap",
    },
  },
  settle: {
    kind: "duration",
    default: 500,
    text: "after the release no connection may arrive for this time",
    decides: true,
    variable: "LAMEDUCK_SETTLE",
    library: {},
    init: { flag: "settle" },
  },
} as const satisfies Rows;

const processes = {
  signal: {
    kind: "own",
    text: "send B when A comes: TERM=USR1 (also -r, --rewrite 15:10; 15:0 drops it)",
    init: { flag: "signal", value: "A=B", reads: "read_translation" },
  },
  rewrite: {
    kind: "own",
    text: "as dumb-init spells it",
    init: {
      flag: "rewrite",
      letter: "r",
      letterOf: ["dumb-init"],
      value: "A:B",
      reads: "read_rewrite",
      shownAs: "",
    },
  },
  group: {
    kind: "switch",
    text: "send signals to the program's process group",
    init: { flag: "group", letter: "g", letterOf: ["tini"], keeps: "group" },
  },
  singleChild: {
    kind: "switch",
    text: "send signals to the program alone, in lameduck-init's session",
    init: { flag: "single-child", letter: "c", letterOf: ["dumb-init"], keeps: "single_child" },
  },
  subreaper: {
    kind: "switch",
    text: "adopt orphans when not PID 1",
    init: { flag: "subreaper", letter: "s", letterOf: ["tini"], keeps: "subreaper" },
  },
  parentDeath: {
    kind: "own",
    text: "get this signal when the parent ends",
    init: { flag: "parent-death", letter: "p", letterOf: ["tini"], value: "SIG", keeps: "parent_death" },
  },
  expect: {
    kind: "own",
    text: "report exit code N as 0",
    init: {
      flag: "expect",
      letter: "e",
      letterOf: ["tini"],
      value: "N",
      reads: "read_expected_code",
    },
  },
  warnOnReap: {
    kind: "switch",
    text: "log each orphan that is reaped",
    init: { flag: "warn-on-reap", letter: "w", letterOf: ["tini"], keeps: "warn_on_reap" },
  },
  verbose: {
    kind: "own",
    text: "log more; -vv logs every second of a hold",
    init: { flag: "verbose", letter: "v", letterOf: ["tini", "dumb-init"], reads: "read_verbose" },
  },
} as const satisfies Rows;

const order = {
  readyFile: {
    ...path,
    text: "create it when the hold has ended",
    init: { flag: "ready-file", value: "PATH", keeps: "hold.order.ready_file" },
  },
  doneFile: {
    ...path,
    text: "create it when the program has ended",
    init: { flag: "done-file", value: "PATH", keeps: "hold.order.done_file" },
  },
  waitFor: {
    ...path,
    text: "hold until it exists",
    init: { flag: "wait-for", value: "PATH", reads: "read_wait_for", holds: true },
  },
  waitGone: {
    ...path,
    text: "hold until it does not exist",
    init: { flag: "wait-gone", value: "PATH", reads: "read_wait_gone", holds: true },
  },
  orderTimeout: {
    kind: "duration",
    text: "longest wait for these files",
    byDefault: "default: the cap",
    init: { flag: "order-timeout", keeps: "order_timeout" },
  },
} as const satisfies Rows;

const diagnosis = {
  trace: {
    kind: "path",
    text: "record each hold in this file or directory, for `lameduck explain`",
    more: "At most 8 MB; until the termination the latest 20,000 arrivals or more are kept in memory. It must be on a local volume.",
    variable: "LAMEDUCK_TRACE",
    library: {},
    init: { flag: "trace", value: "PATH", keeps: "hold.recording" },
  },
  dryRun: {
    kind: "switch",
    text: "hold nothing, and print every second what is seen and what would be decided",
    init: { flag: "dry-run", keeps: "dry_run", holds: true },
  },
  logForm: {
    kind: "choice",
    choices: ["text", "json"],
    default: "text",
    text: "text (default) or json",
    byDefault: "",
    init: { flag: "log", value: "F", keeps: "log" },
  },
  log: {
    kind: "own",
    text: "where phase lines go: a pino- or console-shaped logger, or false",
    byDefault: "JSON lines on stderr",
    library: { type: "Logger | false" },
  },
  environment: {
    kind: "own",
    text: "the variables of this table and of the platform",
    byDefault: "process.env",
    library: { type: "Environment", hidden: true },
  },
  help: {
    kind: "own",
    text: "",
    init: {
      flag: "help",
      letter: "h",
      letterOf: ["tini", "dumb-init"],
      reads: "read_help",
      onlyFlag: true,
      shownAs: "-h, --help   -V, --version   -l, --license",
    },
  },
  version: {
    kind: "own",
    text: "",
    init: {
      flag: "version",
      letter: "V",
      letterOf: ["dumb-init"],
      reads: "read_version",
      onlyFlag: true,
      shownAs: "",
    },
  },
  license: {
    kind: "own",
    text: "",
    init: {
      flag: "license",
      letter: "l",
      letterOf: ["tini"],
      reads: "read_license",
      onlyFlag: true,
      shownAs: "",
    },
  },
} as const satisfies Rows;

/** How the binary of lameduck-init comes into a container that has none. */
export const initVolumes = ["configmap", "image-volume", "init-container", "none"] as const;

/** As `kubernetes.io/arch` spells them: those that there is a binary for. */
export const architectures = ["amd64", "arm64"] as const;

const injection = {
  inject: {
    kind: "switch",
    default: true,
    text: "whether pods are injected at all",
    field: { name: "inject", annotation: "inject" },
  },
  maxGracePeriod: {
    kind: "duration",
    // The cluster autoscaler waits no longer for a pod (--max-graceful-termination-sec).
    default: 600_000,
    text: "no grace period is raised above it",
    field: { name: "maxGracePeriodSeconds", least: 1, most: daySeconds },
  },
  // Another quantity than `convergence`, which is the mean over senders.
  slowestConvergence: {
    kind: "duration",
    text: "how long the slowest sender may go on choosing a deleted pod; default: as the Services and Ingresses say, else 15",
    byDefault: "",
    field: { name: "convergenceSeconds", annotation: "convergence", least: 1, most: hourSeconds },
  },
  nodeShutdown: {
    kind: "duration",
    text: "what a graceful shutdown of their node leaves pods; holds fit into it",
    byDefault: "",
    field: { name: "nodeShutdownSeconds", annotation: "node-shutdown", least: 2, most: hourSeconds },
  },
  initVolume: {
    kind: "choice",
    choices: initVolumes,
    default: "configmap",
    text: "how lameduck-init comes into the container; none: the kubelet's own sleep instead",
    field: { name: "initVolume", annotation: "init-volume" },
  },
  initConfigMap: {
    kind: "text",
    default: "lameduck-init",
    text: "name of the ConfigMap that holds it",
    field: {
      name: "initConfigMap",
      pattern: /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/,
      longest: 253,
      example: "lameduck-init",
    },
  },
  initImage: {
    kind: "text",
    text: "image for initVolume image-volume and init-container",
    field: {
      name: "initImage",
      pattern: /^[a-z0-9](?:[\w./:@-]*\w)?$/,
      longest: 512,
      example: "ghcr.io/lameduck/lameduck:0.1.0",
    },
  },
  architecture: {
    kind: "choice",
    choices: architectures,
    text: "processor of nodes, for pods that do not select one by kubernetes.io/arch",
    field: { name: "architecture" },
  },
  instrumentNode: {
    kind: "switch",
    default: false,
    text: "load @lameduck/node into Node apps by NODE_OPTIONS, instead of a hook",
    field: { name: "instrumentNode", annotation: "instrument-node" },
  },
  existingSleep: {
    kind: "choice",
    choices: ["keep", "replace"],
    default: "keep",
    text: "preStop hooks that only sleep: keep them, or replace them by holds that may take as long or longer",
    field: { name: "existingSleep", annotation: "existing-sleep" },
  },
  onlyExposed: {
    kind: "switch",
    default: true,
    text: "leave alone what nothing leads to and declares no port",
    field: { name: "onlyExposed" },
  },
  serves: {
    kind: "switch",
    text: "whether requests come to the pods, where nothing in the cluster tells",
    field: { name: "serves", annotation: "serves", onlyAnnotation: true },
  },
} as const satisfies Rows;

/** `spec.acknowledgements` of a DrainPolicy: when the cluster counts a pod as released. */
export const releaseOptions = {
  mode: {
    kind: "choice",
    choices: ["availability", "consistency"],
    default: "availability",
    text: "availability: a sender whose reports stop is left out; consistency: it is waited for, up to the cap",
    field: { name: "mode" },
  },
  consumers: {
    kind: "choice",
    choices: ["all", "seen"],
    default: "all",
    text: "which nodes must have stopped sending: all that are Ready, or those from which the pod has seen connections",
    field: { name: "consumers" },
  },
  quorum: {
    kind: "text",
    default: "all",
    text: "how many of the nodes must have reported; all other senders must have, always",
    field: {
      name: "quorum",
      pattern: /^(?:all|(?:[1-9]|[1-9][0-9]|100)%)$/,
      longest: 4,
      example: "all or 95%",
    },
  },
  silentAfter: {
    kind: "duration",
    default: 10_000,
    text: "a sender without a heartbeat for so long is left out, with mode availability",
    field: { name: "silentAfterSeconds", least: 4, most: 600 },
  },
  notReadyAfter: {
    kind: "duration",
    default: 10_000,
    text: "a node that is not Ready for so long does not count",
    field: { name: "notReadyAfterSeconds", least: 1, most: 600 },
  },
  dnsTtl: {
    kind: "duration",
    // `ttl 30` in the Corefile of kubeadm and of Kubernetes' own manifests. CoreDNS without that line, as in k3s, says 5.
    default: 30_000,
    text: "how long clients of headless Services may keep an address: CoreDNS's ttl (kubeadm's: 30), or their own time",
    field: { name: "dnsTtlSeconds", least: 0, most: 3_600 },
  },
  external: {
    kind: "text",
    text: "further senders that must have stopped sending, 16 at most, as KIND/NAME by their --name or their --serves",
    field: {
      name: "external",
      pattern: /^[a-z0-9-]+\/[\w.:-]+(?:, ?[a-z0-9-]+\/[\w.:-]+){0,15}$/,
      longest: 1_024,
      example: "http/cdn, aws/shop",
    },
  },
  sendsNothing: {
    kind: "text",
    text: "senders that are recognised and send nothing to these pods, 16 at most, as the coordinator names them",
    field: {
      name: "sendsNothing",
      pattern: /^[a-z-]+\/[\w.:/-]+(?:, ?[a-z-]+\/[\w.:/-]+){0,15}$/,
      longest: 1_024,
      example: "mesh/istio, proxy/by-flags",
    },
  },
} as const satisfies Rows;

/** The sections of `lameduck-init --help`, in their order. */
export const sections: readonly { readonly title: string; readonly options: Rows }[] = [
  { title: "When to stop", options: whenToStop },
  { title: "What counts as traffic", options: traffic },
  { title: "Acknowledgements (no connection is made before the signal)", options: acknowledgements },
  { title: "Signals and processes", options: processes },
  { title: "Order among containers (PATH is in a directory that they share)", options: order },
  { title: "Looking closer", options: diagnosis },
];

/** Every option, by its name in code. */
export const options = {
  ...whenToStop,
  ...traffic,
  ...acknowledgements,
  ...processes,
  ...order,
  ...diagnosis,
  ...injection,
} as const;

export type OptionName = keyof typeof options;
