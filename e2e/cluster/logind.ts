import { spawn, type ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isReady, type Node } from "@lameduck/kube";
import type { Cluster } from "./cluster.ts";
import { ClusterError } from "./errors.ts";
import { requireProgram } from "./host/requirements.ts";
import { attempt } from "./host/run.ts";
import { until } from "./host/until.ts";

const socket = "/run/dbus/system_bus_socket";
const name = "org.freedesktop.login1";
const object = "/org/freedesktop/login1";
/** Debian's own, which has Debian's modules: the one on PATH may be another. */
const python = "/usr/bin/python3";
const manager = `${name}.Manager`;
/** Microseconds that services may delay a shutdown. The kubelet would restart logind where this is less than its own period. */
const longestDelayUs = 3_600_000_000;

/** Everybody may say everything: the bus has a node of its own. */
const configuration = `<busconfig>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/><allow own="*"/><allow send_type="method_call"/>
    <allow eavesdrop="true"/><allow send_destination="*"/>
  </policy>
</busconfig>
`;

/** The kubelet's settings of a graceful shutdown of its node. */
export interface ShutdownPeriods {
  readonly seconds: number;
  /** The last part of them, which is left to critical pods. */
  readonly criticalSeconds: number;
}

/** A node that can be shut down gracefully: systemd's logind as python3-dbusmock has it, on a bus of the node's own. */
export class Logind implements AsyncDisposable {
  readonly node: string;
  readonly #cluster: Cluster;
  readonly #programs: ChildProcess[] = [];
  #restore: (() => Promise<void>) | undefined;

  private constructor(cluster: Cluster, node: string) {
    this.#cluster = cluster;
    this.node = node;
  }

  /** Returns when the node's kubelet delays shutdowns. It only logs that it could not. */
  static async start(cluster: Cluster, node: string, periods: ShutdownPeriods): Promise<Logind> {
    await requireProgram("dbus-daemon");
    await requireProgram("dbus-send");
    const found = await attempt(python, ["-c", "import dbusmock"]).catch(() => undefined);
    if (found?.status !== 0)
      throw new ClusterError(
        "LAMEDUCK_CLUSTER_MISSING_PACKAGES",
        "python3-dbusmock",
        "not found; apt-get install -y python3-dbusmock",
      );
    const logind = new Logind(cluster, node);
    try {
      await logind.#start(periods);
      return logind;
    } catch (error) {
      await logind[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What logind says before it shuts the machine down, and when it has thought better of it. */
  async announce(isShuttingDown: boolean): Promise<void> {
    await this.#send("signal", [`${manager}.PrepareForShutdown`, `boolean:${isShuttingDown}`]);
  }

  /** Whether somebody delays a shutdown: the kubelet does until the pods have ended, or their time is over. */
  async isDelayed(): Promise<boolean> {
    return /string "shutdown"/.test(await this.#send("method_call", [`${manager}.ListInhibitors`]));
  }

  /**
   * Tells the kubelet that the shutdown was cancelled, and returns when pods may run on the node again. It restarts the kubelet, because kubelet 1.36
   * then has no delay: it takes the delay again, but closes it by the number of its former file.
   */
  async cancel(): Promise<void> {
    await this.announce(false);
    await until(() => isUsable(this.#cluster, this.node), { what: `${this.node} Ready` });
    await this.#cluster.restart(`kubelet-${this.node.slice("node".length)}`);
    await this.#delays();
    await until(() => isUsable(this.#cluster, this.node), { what: `${this.node} Ready again` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#restore?.();
    for (const program of this.#programs.toReversed()) program.kill("SIGKILL");
  }

  async #start({ seconds, criticalSeconds }: ShutdownPeriods): Promise<void> {
    const file = join(this.#cluster.directory, "etc", this.node, "bus.conf");
    await writeFile(file, configuration);
    await this.#cluster.inside(this.node, ["mkdir", "-p", "/run/dbus"]);
    this.#run(["dbus-daemon", "--nofork", "--nopidfile", `--config-file=${file}`]);
    await this.#answers(["org.freedesktop.DBus.ListNames"], "org.freedesktop.DBus", "/org/freedesktop/DBus");
    this.#run([python, "-m", "dbusmock", "--system", "--template", "logind"]);
    await this.#answers([`${manager}.ListInhibitors`]);
    await this.#send("method_call", [
      "org.freedesktop.DBus.Mock.AddProperty",
      `string:${manager}`,
      "string:InhibitDelayMaxUSec",
      `variant:uint64:${longestDelayUs}`,
    ]);
    this.#restore = await this.#cluster.reconfigureKubelet(Number(this.node.slice("node".length)), {
      shutdownGracePeriod: `${seconds}s`,
      shutdownGracePeriodCriticalPods: `${criticalSeconds}s`,
    });
    await this.#delays();
  }

  async #delays(): Promise<void> {
    await until(() => this.isDelayed(), { what: `the kubelet of ${this.node} to delay shutdowns` });
  }

  #run(command: readonly string[]): void {
    const { program, args } = this.#cluster.commandInside(this.node, command);
    this.#programs.push(spawn(program, args, { stdio: "ignore" }));
  }

  #answers(call: readonly string[], to = name, path = object): Promise<unknown> {
    const asked = (): Promise<boolean> =>
      this.#send("method_call", call, to, path).then(
        () => true,
        () => false,
      );
    return until(asked, { what: `${to} on the bus of ${this.node}`, timeoutMs: 20_000 });
  }

  #send(type: "signal" | "method_call", what: readonly string[], to = name, path = object): Promise<string> {
    const where = type === "signal" ? [] : [`--dest=${to}`, "--print-reply"];
    return this.#cluster.inside(this.node, [
      "dbus-send",
      `--bus=unix:path=${socket}`,
      `--type=${type}`,
      ...where,
      path,
      ...what,
    ]);
  }
}

interface Tainted {
  readonly spec: { readonly taints?: readonly object[] };
}

async function isUsable({ api }: Cluster, node: string): Promise<boolean> {
  const read = await api.get<Node & Tainted>(`/api/v1/nodes/${node}`);
  return isReady(read) && (read.spec.taints ?? []).length === 0;
}
