import { connect } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { LoadError } from "@lameduck/load/proxies";
import type { HaproxySpec } from "@lameduck/load";
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

/** Starts HAProxy in the foreground. @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING, LAMEDUCK_SENDER_FAILED. */
export async function startHaproxy(spec: HaproxySpec, context: ProxyContext): Promise<Proxy> {
  const { file, directory, ...settings } = await preparation(spec);
  const { address, port } = settings;
  const socket = join(directory.path, "admin.sock");
  const config = join(directory.path, "haproxy.cfg");
  await writeFile(config, configuration(settings, socket, spec.retries ?? 3));
  const outcomes: ProxyOutcome[] = [];
  const program = startProgram({
    file,
    args: ["-db", "-f", config],
    onLine: (line) => {
      const outcome = readOutcome(line);
      if (outcome) outcomes.push(outcome);
    },
    died: context.died,
  });
  const proxy: Proxy = {
    address,
    port,
    namesRequests: true,
    use: useThrough(socket),
    // Its log comes through a pipe: read whole only when that has ended.
    outcomes: async () => {
      await program.end();
      return outcomes;
    },
    close: async () => {
      await program.end();
      directory.remove();
    },
  };
  return started(proxy, program.listening(address, port, spec.name));
}

/**
 * What an ingress controller would write, as small as it can be: one frontend, one backend whose servers come and go through the runtime
 * API. Callers' connections stay open (their time-outs are far beyond any run), so that no race but the pods' own is seen. Its log
 * has every request without a good answer; "dontlog-normal" would leave out those that it drops without an answer.
 */
function configuration(settings: ProxySettings, socket: string, retries: number): string {
  const { address, port, source } = settings;
  return `global
  log stdout format raw local0
  stats socket ${socket} mode 600 level admin
  nbthread 1
  no strict-limits
  maxconn 8000
defaults
  mode http
  log global
  timeout connect ${connectTimeoutMs}ms
  timeout server ${Math.round(settings.timeout)}ms
  timeout client 1h
  timeout http-keep-alive 1h
  timeout queue ${connectTimeoutMs}ms
  retries ${retries}
${retries > 0 ? "  option redispatch\n" : ""}frontend callers
  bind ${address}:${port}
  http-request capture req.hdr(x-lameduck-id) len 20
  log-format "lameduck %[capture.req.hdr(0)] %s %ts %rc"
  default_backend pods
backend pods
  balance roundrobin
${source === undefined ? "" : `  source ${source}\n`}  http-after-response set-header x-lameduck-upstream %s if { srv_id -m found }
  http-response set-log-level silent if { status lt 500 }
  http-after-response set-header x-lameduck-retries %rc
`;
}

/** @param socket - of its runtime API. */
function useThrough(socket: string): Proxy["use"] {
  const names = new Map<string, string>();
  let enabled: readonly Endpoint[] = [];
  let servers = 0;
  return async (endpoints) => {
    const added = endpoints.filter((endpoint) => !enabled.some((other) => other.pod === endpoint.pod));
    const left = enabled.filter((endpoint) => !endpoints.some((other) => other.pod === endpoint.pod));
    for (const { pod } of left) {
      await command(socket, `disable server pods/${names.get(pod)}`);
      names.delete(pod);
    }
    for (const { pod, address, port } of added) {
      // A server rests in maintenance until its last connection has ended; a pod that returns under its name needs another one.
      const name = `${pod}:${++servers}`;
      names.set(pod, name);
      await command(socket, `add server pods/${name} ${address}:${port} ; enable server pods/${name}`);
    }
    enabled = endpoints;
  };
}

async function command(path: string, words: string): Promise<void> {
  const socket = connect(path);
  socket.end(`${words}\n`);
  const answer = (await text(socket)).trim();
  if (!/New server registered|^$/.test(answer))
    throw new LoadError("LAMEDUCK_SENDER_FAILED", "haproxy", `"${words}": ${answer}`);
}

/** How a session ended, by HAProxy's two letters (its manual, 8.5), as an errno; upper case is the peer's doing, lower case a time-out. */
const errnos: Readonly<Record<string, string>> = {
  SC: "ECONNREFUSED",
  sC: "ETIMEDOUT",
  SH: "ECONNRESET",
  sH: "ETIMEDOUT",
  SD: "ECONNRESET",
  sD: "ETIMEDOUT",
  SL: "ECONNRESET",
};

const form = /^lameduck (\d+) (\S+) (..) \+?(\d+)/;

function readOutcome(line: string): ProxyOutcome | undefined {
  const [, id, server, state = "", retries] = form.exec(line) ?? [];
  if (id === undefined) return undefined;
  const error = server === "<NOSRV>" ? "NO_ENDPOINT" : errnos[state];
  return {
    id: Number(id),
    ...(server === undefined || server === "<NOSRV>" ? {} : { pod: server.replace(/:\d+$/, "") }),
    retries: Number(retries),
    ...(error === undefined ? {} : { error }),
  };
}
