import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { RunClock, SenderEvent } from "@lameduck/accounting";
import { processOf, type PodPlace } from "../../cluster/container-process.ts";
import { until, type Cluster } from "../../cluster/index.ts";
import { changes, type Sender } from "../../matrix/observe/proxies.ts";
import type { EnvoyControl } from "./gateway.ts";

export interface EnvoyPod extends PodPlace {
  readonly address: string;
}

/** Those that are not ending. */
export async function envoyPods(
  cluster: Cluster,
  { namespace, selector }: EnvoyControl,
): Promise<readonly EnvoyPod[]> {
  const fields = "{.metadata.deletionTimestamp}|{.metadata.name} {.spec.nodeName} {.status.podIP}";
  const path = `{range .items[*]}${fields}{"\\n"}{end}`;
  const lines = await cluster.field(["pods", "-n", namespace, "-l", selector], path);
  return lines.split("\n").flatMap((line) => {
    const [deleted, rest = ""] = line.split("|");
    const [name = "", node = "", address = ""] = rest.split(" ");
    return deleted === "" && address !== "" ? [{ name, namespace, node, address }] : [];
  });
}

/**
 * Which pods an Envoy sends to, by its administration interface, asked in its pod's network by a process of its own. It is the main thread's view;
 * workers follow within milliseconds.
 */
export class EnvoyObserver implements Sender, Disposable {
  readonly events: SenderEvent[] = [];
  #reaches: ReadonlySet<string> = new Set();
  readonly #asking: ChildProcess;

  private constructor(asking: ChildProcess, name: string, clock: RunClock, podAt: PodAt) {
    this.#asking = asking;
    createInterface({ input: asking.stdout! }).on("line", (line) => {
      const now = new Set((JSON.parse(line) as string[]).flatMap((address) => podAt(address) ?? []));
      this.events.push(...changes(clock.now(), name, this.#reaches, now));
      this.#reaches = now;
    });
  }

  static async of(
    cluster: Cluster,
    pod: EnvoyPod,
    admin: string,
    clock: RunClock,
    podAt: PodAt,
  ): Promise<EnvoyObserver> {
    const pid = await until(() => processOf(cluster, pod), { what: `the process of ${pod.name}` });
    const asker = [process.execPath, join(import.meta.dirname, "list-hosts.ts"), admin];
    const { program, args } = cluster.commandInside(pod.node, [
      "nsenter",
      "-t",
      pid,
      "--net",
      "--",
      ...asker,
    ]);
    const asking = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    return new EnvoyObserver(asking, pod.name, clock, podAt);
  }

  get reaches(): ReadonlySet<string> {
    return this.#reaches;
  }

  [Symbol.dispose](): void {
    this.#asking.kill("SIGKILL");
  }
}

type PodAt = (address: string) => string | undefined;
