import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { LoadError, type NginxSpec } from "@lameduck/load";
import type { Endpoint } from "@lameduck/accounting";
import { Program } from "./binary.ts";
import type { ProxyOutcome } from "./proxy-outcome.ts";
import { authority, nginxConfig, type NginxSettings } from "./nginx-config.ts";
import { preparation, started, type Proxy, type ProxyContext } from "./proxy.ts";
import { reachable } from "./reachable.ts";

/** Longest time a reload may take, milliseconds. */
const reloadTime = 10_000;

/** Starts nginx in the foreground. @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING, LAMEDUCK_SENDER_FAILED. */
export async function startNginx(spec: NginxSpec, context: ProxyContext): Promise<Proxy> {
  const { file, directory, ...place } = await preparation(spec);
  const settings: NginxSettings = {
    ...place,
    directory: directory.path,
    source: spec.address,
    retries: spec.retries,
    asRoot: process.geteuid?.() === 0,
  };
  const proxy = new Nginx(spec.name, file, settings, context, directory.remove);
  return started(proxy, proxy.start());
}

class Nginx implements Proxy {
  readonly address: string;
  readonly port: number;
  readonly namesRequests = true;
  readonly #name: string;
  readonly #file: string;
  readonly #settings: NginxSettings;
  readonly #context: ProxyContext;
  readonly #remove: () => void;
  readonly #pods = new Map<string, string>();
  readonly #workers = new Set<string>();
  #changed: () => void = () => undefined;
  #program: Program | undefined;

  constructor(
    name: string,
    file: string,
    settings: NginxSettings,
    context: ProxyContext,
    remove: () => void,
  ) {
    this.address = settings.address;
    this.port = settings.port;
    this.#name = name;
    this.#file = file;
    this.#settings = settings;
    this.#context = context;
    this.#remove = remove;
  }

  async start(): Promise<void> {
    await this.#write([]);
    this.#program = new Program({
      file: this.#file,
      // Before it has read the configuration it would log to a file of root's.
      args: ["-e", "stderr", "-c", join(this.#settings.directory, "nginx.conf")],
      word: (line) => this.#read(line),
      died: (problem) => this.#context.died(problem),
    });
    await reachable({ address: this.address, port: this.port, program: this.#program, name: this.#name });
  }

  /**
   * A reload as any controller does it: SIGHUP, new workers, and the old ones told to finish. Both accept for a moment; the change holds
   * from when the last old worker has stopped accepting, which it logs.
   */
  async use(endpoints: readonly Endpoint[]): Promise<void> {
    for (const { pod, address, port } of endpoints) this.#pods.set(authority(address, port), pod);
    await this.#write(endpoints);
    const old = new Set(this.#workers);
    this.#program?.signal("SIGHUP");
    await this.#until(() => [...old].every((worker) => !this.#workers.has(worker)) && this.#workers.size > 0);
    this.#context.emit({ type: "reloaded" });
  }

  async outcomes(): Promise<readonly ProxyOutcome[]> {
    // nginx logs a request after it has answered it: the log is whole when nginx has ended.
    await this.#program?.end();
    const text = await readFile(join(this.#settings.directory, "lost.log"), "utf8").catch(() => "");
    return text.split("\n").flatMap((line) => this.#outcome(line));
  }

  async close(): Promise<void> {
    await this.#program?.end();
    this.#remove();
  }

  async #write(endpoints: readonly Endpoint[]): Promise<void> {
    const { directory } = this.#settings;
    const text = nginxConfig(this.#settings, endpoints);
    await writeFile(join(directory, "nginx.conf"), text);
  }

  /** Follows the workers through nginx' own log. */
  #read(line: string): void {
    const started = /start worker process (\d+)/.exec(line)?.[1];
    if (started !== undefined) this.#workers.add(started);
    const finishing = /\[notice\] (\d+)#\d+: (?:gracefully shutting down|exiting)/.exec(line)?.[1];
    if (finishing !== undefined) this.#workers.delete(finishing);
    this.#changed();
  }

  async #until(holds: () => boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const words = this.#program?.words.slice(-3).join("; ") ?? "";
        reject(
          new LoadError("LAMEDUCK_SENDER_FAILED", `sender ${this.#name}`, `its reload did not end: ${words}`),
        );
      }, reloadTime);
      this.#changed = () => {
        if (!holds()) return;
        clearTimeout(timer);
        this.#changed = () => undefined;
        resolve();
      };
      this.#changed();
    });
  }

  #outcome(line: string): readonly ProxyOutcome[] {
    const [, id, ...tried] = form.exec(line) ?? [];
    if (id === undefined) return [];
    // One value for each server tried, separated by commas: the last one decided.
    const [server = "", status, connected, headed] = tried.map((values) => values.split(/, | : /).at(-1));
    const pod = this.#pods.get(server);
    if (pod === undefined) return [{ id: Number(id), error: "NO_ENDPOINT" }];
    const retries = (tried[0]?.split(", ").length ?? 1) - 1;
    return [{ id: Number(id), pod, retries, ...failure(status, connected, headed) }];
  }
}

/** "12 198.18.1.2:8080|502|-|-", written for each request that ended with a 5xx. */
const form = /^(\d+) ([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)$/;

function failure(status = "", connected = "", headed = ""): { error?: string } {
  if (status === "504") return { error: "ETIMEDOUT" };
  // The pod's own 5xx has a time at which its head came.
  if (status !== "502" || headed !== "-") return {};
  return { error: connected === "-" ? "ECONNREFUSED" : "ECONNRESET" };
}
