import { spawn, type ChildProcess } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Results } from "@lameduck/accounting";
import { apiPort, fabricAddress } from "../cluster/network/addresses.ts";
import { type Cluster, until } from "../cluster/index.ts";

export const program = fileURLToPath(new URL("../../packages/cli/bin/lameduck.js", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when stderr has said it. */
  readonly said: (words: RegExp) => Promise<void>;
}

/** What of the results document the tests read. */
export interface Observed {
  readonly outcome: { readonly kind: string };
  readonly watch: { readonly interrupted: number; readonly expired: number };
  readonly podsKnownBy: { readonly header: number; readonly tuple: number };
}

export interface KubeConfig {
  readonly clusters: readonly [{ readonly name: string; readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly name: string; readonly user: object }];
}

/** `lameduck rollout` on node1, where Services can be reached. */
export class RolloutProgram {
  readonly kubeconfig: string;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, kubeconfig: string) {
    this.#cluster = cluster;
    this.kubeconfig = kubeconfig;
  }

  /** @param folder for its kubeconfig */
  static async on(cluster: Cluster, folder: string): Promise<RolloutProgram> {
    const kubeconfig = join(folder, "kubeconfig");
    const config = JSON.parse(await readFile(cluster.kubeconfig, "utf8")) as KubeConfig;
    await writeFile(kubeconfig, JSON.stringify(fromInside(config)));
    return new RolloutProgram(cluster, kubeconfig);
  }

  start(args: readonly string[], config = this.kubeconfig): Running {
    const command = [process.execPath, program, "rollout", ...args, "--kubeconfig", config];
    const inside = this.#cluster.commandInside("node1", command);
    const child = spawn(inside.program, inside.args, { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout.on("data", (bytes: Buffer) => (out += bytes));
    child.stderr.on("data", (bytes: Buffer) => (err += bytes));
    const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
    const said = async (words: RegExp): Promise<void> => {
      await until(() => Promise.resolve(words.test(err) || child.exitCode !== null), { what: String(words) });
    };
    return { child, ended, said };
  }

  run(args: readonly string[], config?: string): Promise<Ended> {
    return this.start(args, config).ended;
  }

  /** The URL of a Service. */
  async address(name: string, namespace = "default"): Promise<string> {
    const what = ["get", "service", name, "-n", namespace, "-o", "jsonpath={.spec.clusterIP}"];
    return `http://${await this.#cluster.kubectl(what)}/`;
  }
}

export async function resultsOf(file: string): Promise<{ results: Results; observed: Observed }> {
  const results = JSON.parse(await readFile(file, "utf8")) as Results;
  return { results, observed: results.settings["observed"] as Observed };
}

/** The host reaches the API server by a port of its own; nodes reach it where it is. */
function fromInside(config: KubeConfig): object {
  const [{ name, cluster }] = config.clusters;
  const server = `https://${fabricAddress}:${apiPort}`;
  return { ...config, clusters: [{ name, cluster: { ...cluster, server } }] };
}
