import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SenderEvent } from "@lameduck/accounting";
import { nginxImage } from "../cluster/index.ts";
import { changes } from "../matrix/observe/proxies.ts";
import type { ReadyEndpoint } from "./endpoints.ts";
import {
  ingressNode,
  ingressOf,
  ingressPort,
  prepareIngress,
  startIngressPod,
  type Ingress,
  type IngressOptions,
} from "./ingress.ts";
import { followWorkerEnds } from "./worker-ends.ts";

const directory = "/run/ingress-nginx";
const name = "ingress-nginx";

/**
 * nginx, whose configuration is written anew and reloaded, at most once per throttle: controllers without a dynamic upstream do so.
 * Retries are off: they would hide what is to be measured.
 */
export async function startNginx(options: IngressOptions): Promise<Ingress> {
  const { cluster, clock, upstream } = options;
  const { outside, service } = await prepareIngress(options, directory);
  const write = async (servers: readonly string[]): Promise<void> => {
    await writeFile(join(outside, "nginx.conf.new"), configuration(servers));
    await rename(join(outside, "nginx.conf.new"), join(outside, "nginx.conf"));
  };
  // Until the first endpoints are known everything is refused.
  await write([upstream === "service" ? service : "127.0.0.1:9"]);
  const arguments_ = ["-c", `${directory}/nginx.conf`, "-e", "stderr"];
  const address = await startIngressPod(cluster, { name, image: nginxImage, args: arguments_, directory });
  const events: SenderEvent[] = [];
  const reaches = new Set<string>();
  const pod = { cluster, node: ingressNode, pod: name, container: "proxy" };
  const workers = await followWorkerEnds(pod, clock, (at, until) =>
    events.push({ at, sender: name, type: "reloaded", until }),
  );
  const apply = async (endpoints: readonly ReadyEndpoint[]): Promise<void> => {
    await write(
      endpoints.length === 0 ? ["127.0.0.1:9"] : endpoints.map((one) => `${one.address}:${one.port}`),
    );
    await cluster.kubectl(["exec", name, "--", "/usr/sbin/nginx", ...arguments_, "-s", "reload"]);
    const now = new Set(endpoints.map(({ pod }) => pod));
    events.push(...changes(clock.now(), name, reaches, now));
    reaches.clear();
    for (const pod of now) reaches.add(pod);
  };
  const ingress = await ingressOf(options, { name, address, events, reaches, apply });
  return {
    ...ingress,
    [Symbol.asyncDispose]: async () => {
      workers[Symbol.dispose]();
      await ingress[Symbol.asyncDispose]();
    },
  };
}

const configuration = (servers: readonly string[]): string => `daemon off;
pid ${directory}/nginx.pid;
error_log stderr notice;
worker_processes 1;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_timeout 75s;
  # A keep-alive client must not be cut after so many requests in the middle of a measurement.
  keepalive_requests 1000000;
  upstream pods {
${servers.map((server) => `    server ${server} max_fails=0;`).join("\n")}
    keepalive 64;
  }
  server {
    listen ${ingressPort};
    location / {
      proxy_pass http://pods;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_next_upstream off;
      proxy_connect_timeout 5s;
      add_header x-lameduck-upstream $upstream_addr always;
    }
  }
}
`;
