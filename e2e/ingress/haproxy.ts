import { connect } from "node:net";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SenderEvent } from "@lameduck/accounting";
import { haproxyImage, type Cluster, type Manifest } from "../cluster/index.ts";
import { EndpointFollower, type ReadyEndpoint } from "./endpoints.ts";
import { ingressNode, type Ingress, type IngressOptions } from "./ingress.ts";

const slots = 64;
const port = 8080;
/** Below the node's /run, and at the same path in the pod. */
const directory = "/run/ingress-haproxy";
const name = "ingress-haproxy";

/**
 * HAProxy with empty slots that are filled, drained and emptied through its runtime API, as haproxy-ingress does: no reload, no connection
 * cut. Retries are off: they would hide what is to be measured. Its controller is a small one of our own beside the test: that of haproxy-ingress
 * cannot be had as a Go module.
 */
export async function startHaproxy({ cluster, clock, service, upstream }: IngressOptions): Promise<Ingress> {
  const outside = join(cluster.directory, ingressNode, directory);
  await mkdir(outside, { recursive: true });
  const sendsToPods = upstream === "pods";
  const servers = sendsToPods
    ? `  server-template s ${slots} 0.0.0.0:${port} disabled`
    : `  server service ${await cluster.field(["service", service], "{.spec.clusterIP}")}:80`;
  await writeFile(join(outside, "haproxy.cfg"), configuration(servers));
  const address = await startPod(cluster);
  const socket = join(outside, "admin.sock");
  const events: SenderEvent[] = [];
  const used = new Map<number, ReadyEndpoint>();
  const free = Array.from({ length: slots }, (_, index) => slots - index);
  const reaches = new Set<string>();
  const apply = async (endpoints: readonly ReadyEndpoint[]): Promise<void> => {
    const wanted = new Map(endpoints.map((endpoint) => [endpoint.pod, endpoint]));
    for (const [slot, { pod }] of used)
      if (!wanted.delete(pod)) {
        await command(socket, `set server pods/s${slot} state maint`);
        used.delete(slot);
        // Reused as late as possible: connections to the pod before may still be open.
        free.unshift(slot);
        reaches.delete(pod);
        events.push({ at: clock.now(), sender: name, type: "converged", pod });
      }
    for (const endpoint of wanted.values()) {
      const slot = free.pop();
      if (slot === undefined) throw new Error(`HAProxy has no slot left for ${endpoint.pod}`);
      await command(socket, `set server pods/s${slot} addr ${endpoint.address} port ${endpoint.port}`);
      await command(socket, `set server pods/s${slot} state ready`);
      used.set(slot, endpoint);
      reaches.add(endpoint.pod);
      events.push({ at: clock.now(), sender: name, type: "added", pod: endpoint.pod });
    }
  };
  const follower = sendsToPods ? await EndpointFollower.start(cluster, service, apply) : undefined;
  return {
    url: `http://${address}:${port}/`,
    name,
    sendsToPods,
    events,
    reaches,
    [Symbol.asyncDispose]: async () => {
      await follower?.[Symbol.asyncDispose]();
      await cluster.kubectl(["delete", "pod", name, "--ignore-not-found", "--grace-period=1"]);
    },
  };
}

async function startPod(cluster: Cluster): Promise<string> {
  await cluster.kubectl(["apply", "-f", "-"], JSON.stringify(pod));
  await cluster.kubectl(["wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s"]);
  return cluster.field(["pod", name], "{.status.podIP}");
}

const pod: Manifest = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: name } },
  spec: {
    nodeName: ingressNode,
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "proxy",
        image: haproxyImage,
        args: ["-W", "-db", "-f", `${directory}/haproxy.cfg`],
        volumeMounts: [{ name: "control", mountPath: directory }],
        readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
      },
    ],
    volumes: [{ name: "control", hostPath: { path: directory, type: "DirectoryOrCreate" } }],
  },
};

const configuration = (servers: string): string => `global
  maxconn 4000
  stats socket ${directory}/admin.sock mode 660 level admin
defaults
  mode http
  timeout connect 5s
  timeout client 75s
  timeout server 30s
  timeout http-keep-alive 75s
  retries 0
  http-reuse safe
frontend in
  bind :${port}
  default_backend pods
backend pods
  balance roundrobin
  http-after-response set-header x-lameduck-upstream %[bc_dst] if { bc_dst -m found }
${servers}
`;

/** One command over the runtime API; an answer other than an empty line is a refusal. */
function command(socket: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let answer = "";
    connect(socket)
      .setEncoding("utf8")
      .on("data", (chunk) => (answer += String(chunk)))
      .on("error", reject)
      .on("end", () => {
        // "set server ... addr" says what it has changed.
        const output = answer.trim();
        if (output === "" || /changed|no need to change|port/.test(output)) resolve();
        else reject(new Error(`HAProxy refused "${text}": ${output}`));
      })
      .end(`${text}\n`);
  });
}
