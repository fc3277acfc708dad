import { OperatorError, parseCoordinatorAnswer } from "@lameduck/protocol";
import { backendsOf } from "../src/consumers/cilium.ts";
import { clustersIn, hostsInUse, requireInitialised, workersIn } from "../src/consumers/envoy.ts";
import { serversInUse, workersIn as haproxyWorkersIn } from "../src/consumers/haproxy.ts";
import { usedIn } from "../src/consumers/http.ts";
import { endpointsIn as nginxEndpointsIn } from "../src/consumers/ingress-nginx.ts";
import { readSyncs } from "../src/kube-proxy/sync-metrics.ts";
import { serversOf } from "../src/consumers/traefik.ts";
import { endpointsIn as ztunnelEndpointsIn } from "../src/consumers/ztunnel.ts";
import { usedInIpvs } from "../src/rules/ip-vs.ts";
import { usedInNat } from "../src/rules/iptables-save.ts";
import { usedInTable } from "../src/rules/nft-list.ts";
import { asIptablesSave, asIpvs, asNftList } from "../test/rule-sets.ts";

/** Both are used in every answer below. */
const used = ["10.0.0.1", "10.0.0.2"];

interface Target {
  readonly name: string;
  readonly answer: string;
  readonly read: (text: string) => unknown;
  /** What is read from the whole answer is these addresses. */
  readonly isAboutAddresses: boolean;
}

const services = [{ endpoints: used, isStale: false, isSticky: true, isExternal: true }];
const names =
  "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight".split(" ");

function about(name: string, answer: unknown, read: (text: string) => unknown): Target {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  return { name, answer: text, read, isAboutAddresses: true };
}

/** Everything that is read from somebody else, with an answer that is right. */
export const targets: readonly Target[] = [
  about("iptables-save", asIptablesSave(services), (text) => usedInNat(text, used)),
  about("nft list table", asNftList(services), (text) => usedInTable(text, used)),
  about("ip_vs", asIpvs(services), (text) => usedInIpvs(text, used)),
  about(
    "haproxy",
    `1\n# ${names.join(" ")}\n${used.map((one, index) => `3 pods ${index} s${index} ${one} 2 0 1 1`).join("\n")}\n\n`,
    serversInUse,
  ),
  about(
    "envoy",
    {
      cluster_statuses: [
        { socket_address: { address: used[0], port_value: 80 } },
        { envoy_internal_address: { server_listener_name: "tunnel", endpoint_id: `${used[1]}:80` } },
      ].map((address) => ({
        name: "pods",
        host_statuses: [
          {
            address,
            health_status: { eds_health_status: "HEALTHY" },
          },
        ],
      })),
    },
    (text) => hostsInUse(clustersIn(text, "envoy"), () => 0),
  ),
  about(
    "traefik",
    {
      routers: {},
      services: { "a@file": { loadBalancer: { servers: [{ url: `http://${used[0]}:80` }] } } },
      tcpServices: { "b@file": { loadBalancer: { servers: [{ address: `${used[1]}:80` }] } } },
    },
    (text) => serversOf(text, "traefik"),
  ),
  about(
    "cilium",
    used.map((ip) => ({ status: { realized: { "backend-addresses": [{ ip, state: "active" }] } } })),
    (text) => backendsOf(text, "cilium"),
  ),
  about(
    "ztunnel",
    {
      workloads: used.map((address) => ({ uid: `w/${address}`, workloadIps: [address] })),
      services: used.map((address) => ({ endpoints: { [`w/${address}`]: { workloadUid: `w/${address}` } } })),
      stagedServices: {},
    },
    (text) => ztunnelEndpointsIn(text, "ztunnel"),
  ),
  about(
    "ingress-nginx",
    [
      { name: "upstream-default-backend", noServer: false },
      { name: "shop-web-80", endpoints: used.map((address) => ({ address, port: "8080" })) },
    ],
    (text) => nginxEndpointsIn(text, "ingress-nginx"),
  ),
  about("http", { version: 1, used }, (text) => usedIn(text, "http")),
  {
    name: "kube-proxy's metrics",
    answer: ["duration_seconds_count", "last_timestamp_seconds", "last_queued_timestamp_seconds"]
      .map((name) => `kubeproxy_sync_proxy_rules_${name}{ip_family="IPv4"} 12\n`)
      .join("")
      .concat("kubeproxy_sync_proxy_rules_endpoint_changes_pending 0\n"),
    read: (text) => readSyncs(text, "IPv4", "metrics"),
    isAboutAddresses: false,
  },
  {
    name: "envoy's watchdogs",
    answer: JSON.stringify({ stats: [{ name: "workers.watchdog_miss", value: 0 }] }),
    read: (text) => workersIn(text, "envoy"),
    isAboutAddresses: false,
  },
  {
    name: "haproxy's master",
    answer: `#<PID> <type> <reloads> <uptime> <version>\n1 master 1 [failed: 0] 0d00h00m09s 2.6.12\n# workers\n8 worker 0 0d00h00m01s 2.6.12\n# old workers\n7 worker 1 0d00h00m08s 2.6.12\n# programs\n\n`,
    read: haproxyWorkersIn,
    isAboutAddresses: false,
  },
  {
    name: "envoy's state",
    answer: JSON.stringify({ state: "LIVE", version: "1" }),
    read: (text) => requireInitialised(text, "envoy"),
    isAboutAddresses: false,
  },
  {
    name: "the coordinator",
    answer: JSON.stringify({ version: 1, epoch: "a", head: 2, withdrawn: [[used[0], 1]] }),
    read: parseCoordinatorAnswer,
    isAboutAddresses: false,
  },
];

export type Random = () => number;

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** A value of JSON with one part of it replaced by one of another type. */
function otherType(value: unknown, random: Random): unknown {
  const strangers = [0, -1, 1e300, "", "x", true, [], {}, null, [[]], { a: 1 }];
  const isSame = (one: unknown): boolean =>
    typeof one === typeof value &&
    Array.isArray(one) === Array.isArray(value) &&
    (one === null) === (value === null);
  const entries = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (entries.length > 0 && random() < 0.8) {
    const key = pick(random, entries);
    const copy = structuredClone(value) as Record<string, unknown>;
    copy[key] = otherType(copy[key], random);
    return copy;
  }
  return pick(
    random,
    strangers.filter((one) => !isSame(one)),
  );
}

/** What is done to an answer; `keeps`: whoever reads it must throw, or see all that was there. */
export function spoil(
  { answer }: Pick<Target, "answer">,
  random: Random,
): { readonly text: string; readonly keeps: boolean } {
  const at = Math.floor(random() * answer.length);
  if (answer.startsWith("{") || answer.startsWith("["))
    if (random() < 0.5) return { text: JSON.stringify(otherType(JSON.parse(answer), random)), keeps: true };
  switch (Math.floor(random() * 5)) {
    case 0:
      return { text: answer.slice(0, at), keeps: true };
    case 1:
      return {
        text: answer.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + answer.slice(at + 1),
        keeps: false,
      };
    case 2:
      return { text: answer.slice(0, at) + answer.slice(at + Math.floor(random() * 40)), keeps: false };
    case 3:
      return { text: answer.slice(0, at) + answer.slice(Math.floor(random() * answer.length)), keeps: false };
    default:
      return {
        text: answer.slice(0, at) + '{[("\\'.repeat(Math.floor(random() * 500)) + answer.slice(at),
        keeps: false,
      };
  }
}

/** @returns what is wrong with how a spoilt answer was read; none where nothing is. */
export function wrongReading(target: Target, random: Random): string | undefined {
  const { text, keeps } = spoil(target, random);
  // Processor time: on a busy machine anything may take a second.
  const began = process.cpuUsage();
  try {
    const read = target.read(text);
    const isLess = target.isAboutAddresses && !used.every((one) => (read as ReadonlySet<string>).has(one));
    // Cilium writes null for a list that is empty.
    if (target.name === "cilium" && text.includes(":null")) return undefined;
    // The kernel does not say where its list ends, and a text that is cut after its end is whole.
    if (keeps && isLess && !(target.name === "ip_vs" && text.endsWith("\n")))
      return `${target.name}: takes an address for unused in\n${text}`;
  } catch (error) {
    if (!(error instanceof OperatorError)) return `${target.name}: ${String(error)} for\n${text}`;
  }
  const { user, system } = process.cpuUsage(began);
  const took = (user + system) / 1_000;
  return took > 1_000 ? `${target.name}: ${took} ms for\n${text.slice(0, 2_000)}` : undefined;
}
