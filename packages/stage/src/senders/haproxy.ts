import { connect } from "node:net";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { LoadError, type HaproxySpec } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import { Program } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";
import { haproxyConfig } from "./haproxy-config.ts";
import { preparation, started, type Proxy, type ProxyContext } from "./proxy.ts";
import { reachable } from "./reachable.ts";

/** Starts HAProxy in the foreground. @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING, LAMEDUCK_SENDER_FAILED. */
export async function startHaproxy(spec: HaproxySpec, context: ProxyContext): Promise<Proxy> {
  const { file, directory, address, port, timeout, connectTimeout } = await preparation(spec);
  const socket = join(directory.path, "admin.sock");
  const config = join(directory.path, "haproxy.cfg");
  const retries = spec.retries ?? 3;
  await writeFile(
    config,
    haproxyConfig({ address, port, socket, source: spec.address, timeout, connectTimeout, retries }),
  );
  const outcomes: ProxyOutcome[] = [];
  const program = new Program({
    file,
    args: ["-db", "-f", config],
    word: (line) => {
      const outcome = readOutcome(line);
      if (outcome) outcomes.push(outcome);
    },
    died: (problem) => context.died(problem),
  });
  const proxy = new Haproxy({ address, port, socket, program, outcomes, remove: directory.remove });
  return started(proxy, reachable({ address, port, program, name: spec.name }));
}

class Haproxy implements Proxy {
  readonly address: string;
  readonly port: number;
  readonly namesRequests = true;
  readonly #socket: string;
  readonly #program: Program;
  readonly #outcomes: readonly ProxyOutcome[];
  readonly #remove: () => void;
  readonly #names = new Map<string, string>();
  #enabled: readonly Endpoint[] = [];
  #servers = 0;

  constructor(options: {
    address: string;
    port: number;
    socket: string;
    program: Program;
    outcomes: readonly ProxyOutcome[];
    remove: () => void;
  }) {
    this.address = options.address;
    this.port = options.port;
    this.#socket = options.socket;
    this.#program = options.program;
    this.#outcomes = options.outcomes;
    this.#remove = options.remove;
  }

  async use(endpoints: readonly Endpoint[]): Promise<void> {
    const added = endpoints.filter((endpoint) => !this.#enabled.some((other) => other.pod === endpoint.pod));
    const left = this.#enabled.filter((endpoint) => !endpoints.some((other) => other.pod === endpoint.pod));
    for (const { pod } of left) {
      await this.#command(`disable server pods/${this.#names.get(pod)}`);
      this.#names.delete(pod);
    }
    for (const { pod, address, port } of added) {
      // A server rests in maintenance until its last connection has ended; a pod that returns under its name needs another one.
      const name = `${pod}:${++this.#servers}`;
      this.#names.set(pod, name);
      await this.#command(`add server pods/${name} ${address}:${port}`, `enable server pods/${name}`);
    }
    this.#enabled = endpoints;
  }

  async outcomes(): Promise<readonly ProxyOutcome[]> {
    // Its log comes through a pipe: read whole only when that has ended.
    await this.#program.end();
    return this.#outcomes;
  }

  async close(): Promise<void> {
    await this.#program.end();
    this.#remove();
  }

  async #command(...commands: readonly string[]): Promise<void> {
    const answer = await new Promise<string>((resolve, reject) => {
      let text = "";
      const socket = connect(this.#socket);
      socket.setEncoding("utf8").on("data", (more) => {
        text += String(more);
      });
      socket.on("error", reject);
      socket.on("end", () => resolve(text));
      socket.end(`${commands.join(" ; ")}\n`);
    });
    if (!/New server registered|^$/.test(answer.trim()))
      throw new LoadError("LAMEDUCK_SENDER_FAILED", "haproxy", `"${commands.join(" ; ")}": ${answer.trim()}`);
  }
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
