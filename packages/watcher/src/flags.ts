import { hostname } from "node:os";
import { isNodeProxy, isServed } from "@lameduck/senders";
import { operatorNames } from "@lameduck/protocol";
import {
  badFlag,
  parseFlags,
  help,
  logLevel,
  logLevels,
  port,
  text,
  texts,
  type LogLevel,
} from "@lameduck/program";
import { consumerOf, consumersHelp } from "./kinds.ts";
import { type DiscoveredKind, discoveredKinds } from "./clouds/bound-groups.ts";
import type { Consumer } from "./consumer.ts";

export interface WatcherFlags {
  readonly coordinators: readonly URL[];
  readonly tokenFile: string;
  readonly consumers: readonly Consumer[];
  /** In place of consumers: clouds whose load balancers are found in the cluster's objects. */
  readonly discover: readonly DiscoveredKind[];
  readonly kubeconfig: string | undefined;
  /** Name of this consumer, unique among those of its kind. */
  readonly name: string;
  readonly node: string | undefined;
  /** What it serves, where its kind does not tell: "ingress-class/nginx". */
  readonly serves: readonly string[];
  /** On which it answers the kubelet's liveness probe; undefined where nobody asks. */
  readonly livePort: number | undefined;
  readonly logLevel: LogLevel;
}

const { coordinator: names, namespace } = operatorNames;
const exampleUrl = `http://${names.consumersService}.${namespace}.svc:${names.ports.protocol}`;

export const watcherHelp = `lameduck-operator watcher --coordinator URL --token-file FILE --consumer KIND[=WHERE] ... [flags]

Reports to the coordinator which changes this node's kube-proxy, or the proxy beside it, has applied.
It reads the proxy only while pods terminate. More: docs/operate/watchers.md

  lameduck-operator watcher --coordinator ${exampleUrl} \\
    --token-file /token/token --consumer kube-proxy
  lameduck-operator watcher --coordinator ${exampleUrl} \\
    --token-file /token/token --discover aws

Defaults are in brackets. It runs until SIGTERM.

  --coordinator URL     http://NAME:PORT; it reports to every address of NAME; may be repeated
  --token-file FILE     token of the ServiceAccount, audience ${names.audience}; read again when it is renewed
  --consumer KIND       the proxy to read; may be repeated:
${consumersHelp}
  --discover CLOUD      in place of --consumer: ${discoveredKinds.join(" or ")}. It finds the groups of its load balancers by
                        TargetGroupBindings or ServiceNetworkEndpointGroups, and reports for each Service that has some; may
                        be repeated
  --kubeconfig FILE     the cluster of --discover (that of the pod)
  --name NAME           name of this sender, unique among those of its kind (the node's name for kube-proxy
                        and Cilium, else the host name, which is the pod's)
  --node NAME           node that it reports for (the variable NODE_NAME)
  --serves WHAT         what the proxy serves: ingress-class/NAME, gateway-class/NAME, or of a Service
                        load-balancer/aws/NAMESPACE/NAME; consumer/KIND/NAME for what \`external\` of a DrainPolicy
                        calls KIND/NAME; a name of docs/reference/senders.md, such as proxy/traefik; may be repeated (the class, or the
                        proxy/NAME, that is called like the kind)
  --live-port PORT      port of 127.0.0.1 on which it answers GET /livez, for a liveness probe (none)
  --log-level LEVEL     ${logLevels.join(", ")} (info)
`;

const options = {
  coordinator: texts,
  "token-file": text,
  consumer: texts,
  discover: texts,
  kubeconfig: text,
  name: text,
  node: text,
  serves: texts,
  "live-port": text,
  "log-level": text,
  help,
} as const;

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG @returns none where help is asked for. */
export function parseWatcherFlags(
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): WatcherFlags | undefined {
  const values = parseFlags(args, options);
  if (values.help) return undefined;
  const coordinators = (values.coordinator ?? []).map((value) => coordinator(value));
  if (coordinators.length === 0) throw badFlag("--coordinator", "is missing");
  const tokenFile = values["token-file"];
  if (tokenFile === undefined) throw badFlag("--token-file", "is missing");
  const consumers = (values.consumer ?? []).map((value) => consumerOf(value));
  const discover = (values.discover ?? []).map((value) => discoveredKind(value));
  if (consumers.length === 0 && discover.length === 0) throw badFlag("--consumer", "is missing");
  for (const one of ["consumer", "serves", "name"] as const)
    if (discover.length > 0 && values[one] !== undefined)
      throw badFlag(`--${one}`, "does not go with --discover: each Service has a name of its own");
  const kinds = consumers.map(({ kind }) => kind);
  const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index);
  if (twice !== undefined)
    throw badFlag("--consumer", `${twice} is given twice: run one process for each, with a unique --name`);
  const node = values.node ?? (env["NODE_NAME"] || undefined);
  const serves = values.serves ?? [];
  const wrong = serves.find((one) => !isServed(one));
  if (wrong !== undefined) throw badFlag("--serves", `"${wrong}" is not of the form ingress-class/NAME`);
  const isForNode = consumers.some(({ kind }) => isNodeProxy({ kind, serves }));
  return {
    coordinators,
    tokenFile,
    consumers,
    discover,
    kubeconfig: values.kubeconfig,
    // Two proxies of one node need two names: under one name the coordinator would wait for one of them only.
    name: values.name ?? (isForNode ? node : undefined) ?? hostname(),
    node,
    serves,
    livePort: values["live-port"] === undefined ? undefined : port("--live-port", values["live-port"], 0),
    logLevel: logLevel(values["log-level"]),
  };
}

function discoveredKind(value: string): DiscoveredKind {
  const kind = discoveredKinds.find((one) => one === value);
  if (kind === undefined) throw badFlag("--discover", `"${value}" is none of ${discoveredKinds.join(", ")}`);
  return kind;
}

function coordinator(value: string): URL {
  const url = URL.parse(value);
  if (url?.protocol !== "http:" || url.pathname !== "/")
    throw badFlag("--coordinator", `"${value}" is no URL such as ${exampleUrl}`);
  return url;
}
