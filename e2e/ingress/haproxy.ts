import { connect } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SenderEvent } from "@lameduck/accounting";
import { haproxyImage } from "../cluster/index.ts";
import type { ReadyEndpoint } from "./endpoints.ts";
import {
  ingressOf,
  ingressPort,
  prepareIngress,
  startIngressPod,
  type Ingress,
  type IngressOptions,
} from "./ingress.ts";

const slots = 64;
const directory = "/run/ingress-haproxy";
const name = "ingress-haproxy";

/**
 * HAProxy with empty slots that are filled, drained and emptied through its runtime API, as haproxy-ingress does: no reload, no connection
 * cut. Retries are off: they would hide what is to be measured.
 */
export async function startHaproxy(options: IngressOptions): Promise<Ingress> {
  const { cluster, clock, upstream } = options;
  const { outside, service } = await prepareIngress(options, directory);
  const servers =
    upstream === "service"
      ? `  server service ${service}`
      : `  server-template s ${slots} 0.0.0.0:${ingressPort} disabled`;
  await writeFile(join(outside, "haproxy.cfg"), configuration(servers));
  const address = await startIngressPod(cluster, {
    name,
    image: haproxyImage,
    args: ["-W", "-db", "-f", `${directory}/haproxy.cfg`],
    directory,
  });
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
  return ingressOf(options, { name, address, events, reaches, apply });
}

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
  bind :${ingressPort}
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
