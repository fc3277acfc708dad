import type { OperatorError } from "@lameduck/protocol";
import { badFlag } from "@lameduck/program";
import type { Consumer } from "./consumer.ts";
import { endpointOf } from "./consumers/ask.ts";
import { awsTargetGroup } from "./consumers/aws.ts";
import { cilium } from "./consumers/cilium.ts";
import { envoy } from "./consumers/envoy.ts";
import { gcpEndpointGroup } from "./consumers/gcp.ts";
import { haproxy } from "./consumers/haproxy.ts";
import { httpEndpoint } from "./consumers/http.ts";
import { iptablesRules } from "./kube-proxy/iptables.ts";
import { ipvsRules } from "./kube-proxy/ipvs.ts";
import { KubeProxy, type KubeProxyRules } from "./kube-proxy/kube-proxy.ts";
import { nftablesRules } from "./kube-proxy/nftables.ts";
import { nginx } from "./consumers/nginx.ts";
import { syncMetrics } from "./kube-proxy/sync-metrics.ts";
import { traefik } from "./consumers/traefik.ts";

interface Kind {
  readonly usage: string;
  readonly help: string;
  /** @param where the text after "=", empty without it. @returns undefined where it is not valid. */
  make(where: string): Consumer | undefined;
}

const iptables = (): KubeProxyRules[] => [iptablesRules("nft"), iptablesRules("legacy")];
const modes: Readonly<Record<string, () => readonly KubeProxyRules[]>> = {
  "": () => [...iptables(), nftablesRules(), ipvsRules()],
  iptables,
  nftables: () => [nftablesRules()],
  ipvs: () => [ipvsRules()],
};

const metricsAddress = "http://127.0.0.1:10249";

function kubeProxy(where: string): Consumer | undefined {
  const [, url] = /^metrics(?:,(.+))?$/.exec(where) ?? [];
  if (where === "metrics" || url !== undefined) return atUrl(syncMetrics)(url ?? metricsAddress);
  return Object.hasOwn(modes, where) ? new KubeProxy(modes[where]?.() ?? []) : undefined;
}

const atUrl =
  (make: (url: URL) => Consumer) =>
  (where: string): Consumer | undefined => {
    const url = URL.parse(where);
    return url === null || !/^https?:$/.test(url.protocol) ? undefined : make(url);
  };

/** The kinds of `--consumer`. */
export const consumerKinds: Readonly<Record<string, Kind>> = {
  "kube-proxy": {
    usage: "kube-proxy[=iptables|nftables|ipvs]",
    help: "the node's rules (in the mode that is found); kube-proxy=metrics[,URL]: its syncs",
    make: kubeProxy,
  },
  haproxy: {
    usage: "haproxy=SOCKET",
    help: "runtime API, by the path of its Unix socket or HOST:PORT",
    make: (where) => {
      const endpoint = endpointOf(where);
      return endpoint && haproxy(endpoint);
    },
  },
  nginx: {
    usage: "nginx=FILE[,PIDFILE]",
    help: "nginx.conf, and the file with its process id (/run/nginx.pid)",
    make: (where) => {
      const [file = "", pidFile = "/run/nginx.pid"] = where.split(",");
      return file.startsWith("/") ? nginx(file, pidFile) : undefined;
    },
  },
  envoy: {
    usage: "envoy=URL",
    help: "administration interface, such as http://127.0.0.1:9901",
    make: atUrl(envoy),
  },
  traefik: { usage: "traefik=URL", help: "API, such as http://127.0.0.1:8080", make: atUrl(traefik) },
  cilium: {
    usage: "cilium[=SOCKET]",
    help: "the agent's API (/run/cilium/cilium.sock)",
    make: (where) => cilium(where === "" ? "/run/cilium/cilium.sock" : where),
  },
  aws: {
    usage: "aws=TARGET-GROUP-ARN",
    help: "addresses as targets; needs @aws-sdk/client-elastic-load-balancing-v2",
    make: (where) => (where.startsWith("arn:") ? awsTargetGroup(where) : undefined),
  },
  gcp: {
    usage: "gcp=PROJECT/ZONE/NEG",
    help: "network endpoint group; needs @google-cloud/compute",
    make: (where) => {
      const [project = "", zone = "", group = "", ...rest] = where.split("/");
      return group === "" || rest.length > 0 ? undefined : gcpEndpointGroup({ project, zone, group });
    },
  },
  http: {
    usage: "http=URL",
    help: "your own endpoint, as docs/consumers.md describes",
    make: atUrl(httpEndpoint),
  },
};

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function consumerOf(value: string): Consumer {
  const [, name = "", where = ""] = /^([^=]*)(?:=(.*))?$/s.exec(value) ?? [];
  const kind = Object.hasOwn(consumerKinds, name) ? consumerKinds[name] : undefined;
  if (kind === undefined) throw badConsumer(`"${name}" is none of ${Object.keys(consumerKinds).join(", ")}`);
  const made = kind.make(where);
  if (made === undefined) throw badConsumer(`"${value}" is not of the form ${kind.usage}`);
  return made;
}

function badConsumer(problem: string): OperatorError {
  return badFlag("--consumer", problem);
}
