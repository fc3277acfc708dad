import { EventEmitter, once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { LoadError, type NginxSpec } from "@lameduck/load";
import { startProgram } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";
import { authority, nginxConfig, type NginxSettings } from "./nginx-config.ts";
import { preparation, started, type Proxy, type ProxyContext } from "./proxy.ts";

/** Longest time a reload may take, milliseconds. */
const reloadTime = 10_000;

/** Starts nginx in the foreground. @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING, LAMEDUCK_SENDER_FAILED. */
export async function startNginx(spec: NginxSpec, context: ProxyContext): Promise<Proxy> {
  const { file, directory, ...place } = await preparation(spec);
  const { address, port } = place;
  const settings: NginxSettings = {
    ...place,
    directory: directory.path,
    source: spec.address,
    retries: spec.retries,
    asRoot: process.geteuid?.() === 0,
  };
  const config = join(directory.path, "nginx.conf");
  await writeFile(config, nginxConfig(settings, []));
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
      await writeFile(config, nginxConfig(settings, endpoints));
      const replaced = workers.replaced(AbortSignal.timeout(reloadTime));
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

/** Those that accept, by nginx' own log. */
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

  /** Resolves when others have taken the place of all that accept now. */
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
