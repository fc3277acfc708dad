import { EventEmitter, once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { LoadError } from "@lameduck/load/proxies";
import type { NginxSpec } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import { startProgram } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";
import {
  connectTimeoutMs,
  preparation,
  started,
  type Proxy,
  type ProxyContext,
  type ProxySettings,
} from "./proxy.ts";

/** Longest time a reload may take. */
const reloadTimeMs = 10_000;

/** Starts nginx in the foreground. @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING, LAMEDUCK_SENDER_FAILED. */
export async function startNginx(spec: NginxSpec, context: ProxyContext): Promise<Proxy> {
  const { file, directory, ...place } = await preparation(spec);
  const { address, port } = place;
  const settings = { ...place, directory: directory.path, retries: spec.retries };
  const config = join(directory.path, "nginx.conf");
  await writeFile(config, configuration(settings, []));
  const workers = new Workers();
  // Before it has read the configuration it would log to a file of root's.
  const args = ["-e", "stderr", "-c", config];
  const program = startProgram({ file, args, onLine: (line) => workers.read(line), died: context.died });
  const pods = new Map<string, string>();
  const proxy: Proxy = {
    address,
    port,
    namesRequests: true,
    /**
     * A reload as any controller does it: SIGHUP, new workers, and the old ones told to finish. Both accept for a moment; the change holds
     * from when the last old worker has stopped accepting, which it logs.
     */
    use: async (endpoints) => {
      for (const { pod, address, port } of endpoints) pods.set(authority(address, port), pod);
      await writeFile(config, configuration(settings, endpoints));
      const replaced = workers.replaced(AbortSignal.timeout(reloadTimeMs));
      program.signal("SIGHUP");
      await replaced.catch(() => {
        const problem = `its reload did not end: ${program.lastLines()}`;
        throw new LoadError("LAMEDUCK_SENDER_FAILED", `sender ${spec.name}`, problem);
      });
      context.emit({ type: "reloaded" });
    },
    outcomes: async () => {
      // nginx logs a request after it has answered it: the log is whole when nginx has ended.
      await program.end();
      const text = await readFile(join(directory.path, "lost.log"), "utf8").catch(() => "");
      return text.split("\n").flatMap((line) => readOutcome(line, pods) ?? []);
    },
    close: async () => {
      await program.end();
      directory.remove();
    },
  };
  return started(proxy, program.listening(address, port, spec.name));
}

interface NginxSettings extends ProxySettings {
  readonly directory: string;
  readonly retries: number | undefined;
}

/**
 * What an ingress controller would write, as small as it can be. Callers' connections stay open, so that no race but the pods' own and
 * those of a reload is seen.
 */
function configuration(settings: NginxSettings, endpoints: readonly Endpoint[]): string {
  const { directory } = settings;
  // Root of a user namespace cannot become anybody else; root of the machine need not.
  const isRoot = process.geteuid?.() === 0;
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  return `daemon off;
${isRoot ? "user root root;\n" : ""}worker_processes 1;
pid ${directory}/pid;
error_log stderr notice;
events { worker_connections 8000; }
http {
  log_format lost '$http_x_lameduck_id $upstream_addr|$upstream_status|$upstream_connect_time|$upstream_header_time';
  map $status $lost { ~^5 1; default 0; }
  access_log ${directory}/lost.log lost if=$lost;
${temporary.map((kind) => `  ${kind}_temp_path ${directory}/${kind};`).join("\n")}
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
${endpoints.length === 0 ? "" : upstream(endpoints)}  server {
    listen ${settings.address}:${settings.port} backlog=4096;
    location / {
${endpoints.length === 0 ? "      return 503;\n" : location(settings)}    }
  }
}
`;
}

function upstream(endpoints: readonly Endpoint[]): string {
  const servers = endpoints.map(({ address, port }) => `    server ${authority(address, port)};\n`);
  return `  upstream pods {\n${servers.join("")}    keepalive 256;\n  }\n`;
}

/** As nginx writes it, in its configuration and in its logs. */
function authority(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function location(settings: NginxSettings): string {
  const { retries, source } = settings;
  return `      proxy_pass http://pods;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_connect_timeout ${connectTimeoutMs}ms;
      proxy_read_timeout ${Math.ceil(settings.timeout)}ms;
${retries === undefined ? "" : tries(retries)}${source === undefined ? "" : `      proxy_bind ${source};\n`}      add_header x-lameduck-upstream $upstream_addr always;
`;
}

function tries(retries: number): string {
  return retries === 0
    ? "      proxy_next_upstream off;\n"
    : `      proxy_next_upstream_tries ${retries + 1};\n`;
}

/** Workers that accept, by nginx' own log. */
class Workers {
  readonly #accepting = new Set<string>();
  readonly #changes = new EventEmitter();

  read(line: string): void {
    const started = /start worker process (\d+)/.exec(line)?.[1];
    if (started !== undefined) this.#accepting.add(started);
    const finishing = /\[notice\] (\d+)#\d+: (?:gracefully shutting down|exiting)/.exec(line)?.[1];
    if (finishing !== undefined) this.#accepting.delete(finishing);
    this.#changes.emit("change");
  }

  /** Resolves when new workers have replaced all that accept now. */
  async replaced(signal: AbortSignal): Promise<void> {
    const old = new Set(this.#accepting);
    while (this.#accepting.size === 0 || [...old].some((worker) => this.#accepting.has(worker)))
      await once(this.#changes, "change", { signal });
  }
}

/** "12 198.18.1.2:8080|502|-|-", written for each request that ended with a 5xx. */
const form = /^(\d+) ([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)$/;

function readOutcome(line: string, pods: ReadonlyMap<string, string>): ProxyOutcome | undefined {
  const [, id, ...tried] = form.exec(line) ?? [];
  if (id === undefined) return undefined;
  // One value for each server tried, separated by commas: the last one decided.
  const [server = "", status, connected, headed] = tried.map((values) => values.split(/, | : /).at(-1));
  const pod = pods.get(server);
  if (pod === undefined) return { id: Number(id), error: "NO_ENDPOINT" };
  const retries = (tried[0]?.split(", ").length ?? 1) - 1;
  return { id: Number(id), pod, retries, ...failure(status, connected, headed) };
}

function failure(status = "", connected = "", headed = ""): { error?: string } {
  if (status === "504") return { error: "ETIMEDOUT" };
  // The pod's own 5xx has a time at which its head came.
  if (status !== "502" || headed !== "-") return {};
  return { error: connected === "-" ? "ECONNREFUSED" : "ECONNRESET" };
}
