import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runClock } from "@lameduck/accounting";
import { processOf } from "../cluster/container-process.ts";
import { until, whyNot, type Cluster } from "../cluster/index.ts";
import { missingForIngressNginx } from "../cluster/images/ingress-nginx.ts";
import { deployment, podFields, service } from "../cluster/workload.ts";
import { startIngressNginx } from "../ingress/ingress-nginx.ts";
import { ingressNode, type Ingress } from "../ingress/ingress.ts";
import { PodObserver } from "../matrix/observe/pods.ts";
import { apply, fetchFrom, quietCluster, rolledOut } from "./support.ts";

const missing = missingForIngressNginx();
const skip =
  (await whyNot()) ??
  (missing.length > 0 ? `ingress-nginx needs apt-get install -y ${missing.join(" ")}` : false);
const namespace = "ingress-nginx";

interface Look {
  readonly at: number;
  readonly used: readonly string[];
  readonly reason: string;
}

/** The reader of a watcher, in the network of the controller's pod. */
class Watcher implements AsyncDisposable {
  readonly looks: Look[] = [];
  readonly #answers: (readonly string[])[] = [];
  readonly #child: ReturnType<typeof spawn>;

  constructor(cluster: Cluster, inPod: readonly string[], origin: string, addresses: readonly string[]) {
    const file = join(import.meta.dirname, "ingress-nginx-look.ts");
    const { program, args } = cluster.commandInside(ingressNode, [
      ...inPod,
      process.execPath,
      file,
      origin,
      ...addresses,
    ]);
    this.#child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.#child.stdout! }).on("line", (line) => {
      const read = JSON.parse(line) as Look | { readonly done: readonly string[] };
      if ("used" in read) this.looks.push(read);
      else this.#answers.push(read.done);
    });
  }

  get now(): Look | undefined {
    return this.looks.at(-1);
  }

  /** Writes the list in the controller's place, which knows nothing of it. */
  async write(...addresses: readonly string[]): Promise<void> {
    const endpoints = addresses.map((address) => ({ address, port: "8080" }));
    const list = [{ name: "upstream-default-backend" }, { name: "default-web-80", endpoints }];
    await this.tell(JSON.stringify(list));
  }

  async tell(line: string): Promise<readonly string[]> {
    const before = this.#answers.length;
    this.#child.stdin?.write(`${line}\n`);
    await until(() => Promise.resolve(this.#answers.length > before), { what: line });
    return this.#answers.at(-1) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

describe("ingress-nginx itself", { skip }, () => {
  const clock = runClock();
  const stack = new AsyncDisposableStack();
  let cluster: Cluster;
  let pods: PodObserver;
  let ingress: Ingress;
  let inPod: readonly string[];
  before(async () => {
    cluster = stack.use(await quietCluster({ nodes: 2, proxyLag: ["1s", "1s"] }));
    pods = stack.use(await PodObserver.start(cluster, "web", clock));
    await apply(cluster, service("web"), deployment({ name: "web", replicas: 4 }));
    await rolledOut(cluster, "web");
    const podAt = (address: string): string | undefined => pods.podAt(address);
    ingress = stack.use(await startIngressNginx({ cluster, clock, service: "web", upstream: "pods", podAt }));
    const name = await cluster.field(["pods", "-n", namespace], "{.items[0].metadata.name}");
    const pid = await until(() => processOf(cluster, { name, namespace, node: ingressNode }), {
      what: "the process of the controller",
    });
    inPod = ["nsenter", "-t", pid, "--net", "--"];
  });
  after(() => stack.disposeAsync());

  const reaches = (...names: readonly string[]): Promise<unknown> =>
    until(
      () =>
        Promise.resolve(
          names.length === ingress.reaches.size && names.every((one) => ingress.reaches.has(one)),
        ),
      {
        what: `workers that send to ${names.join(" and ")} alone`,
      },
    );
  const watching = async (): Promise<{ watcher: Watcher; names: string[]; addresses: string[] }> => {
    const [names, addresses] = [
      await podFields(cluster, "web", "metadata.name"),
      await podFields(cluster, "web", "status.podIP"),
    ];
    return { names, addresses, watcher: new Watcher(cluster, inPod, clock.origin, addresses) };
  };
  const uses = (watcher: Watcher, ...addresses: readonly string[]): Promise<unknown> =>
    until(() => Promise.resolve(watcher.now?.used.join(" ") === addresses.join(" ")), {
      what: `only ${addresses.join(" ")} in use`,
    });

  it("it sends to every pod, and has let go of a deleted one when the watcher says so", async () => {
    const { watcher, names, addresses } = await watching();
    await using _ = watcher;
    await reaches(...names);
    const answers = await fetchFrom(cluster, ingressNode, ingress.url, 8);
    assert.deepEqual(new Set(answers), new Set(names));
    await uses(watcher, ...addresses);
    await cluster.kubectl(["delete", "pod", names[0] ?? "", "--wait=false"]);
    await uses(watcher, ...addresses.slice(1));
    const droppedAt = ingress.events.find(
      (event) => event.type === "converged" && event.pod === names[0],
    )?.at;
    assert.ok(droppedAt !== undefined, "no worker sends to it any more");
    assert.ok(droppedAt <= (watcher.now?.at ?? 0), "they had let go of it before the watcher said so");
  });

  it("its workers do not copy a second list of one second, and the watcher knows", async () => {
    await until(() => Promise.resolve(pods.available === 4 && pods.terminating === 0), { what: "four pods" });
    const { watcher, names, addresses } = await watching();
    await using _ = watcher;
    const [first = "", second = "", third = ""] = addresses;
    // Workers copy each second: a list that came and went between two copies they never had.
    for (;;) {
      await sleep(1_100);
      await watcher.write(...addresses);
      await reaches(...names);
      await uses(watcher, ...addresses);
      await sleep(1_020 - (Date.now() % 1_000));
      const began = Math.floor(Date.now() / 1_000);
      await watcher.write(first, second);
      // The watcher looks four times a second.
      await sleep(400);
      const copied = (): Promise<boolean> => Promise.resolve(ingress.reaches.size < 4);
      const isCopied = await until(copied, {
        what: "workers with the list",
        timeoutMs: 450,
        everyMs: 20,
      }).catch(() => false);
      await watcher.write(second);
      if (isCopied && Math.floor(Date.now() / 1_000) === began) break;
    }
    await until(() => Promise.resolve(/twice within a second/.test(watcher.now?.reason ?? "")), {
      what: "the reason said",
    });
    await sleep(3_000);
    assert.ok(ingress.reaches.has(names[0] ?? ""), "a worker keeps the first one, three copies later");
    assert.ok(watcher.now?.used.includes(first));
    await watcher.write(second, third);
    await reaches(names[1] ?? "", names[2] ?? "");
    await uses(watcher, second, third);
  });

  it("a worker that leaves keeps the list that it has", async () => {
    const { watcher, names, addresses } = await watching();
    await using _ = watcher;
    await sleep(1_100);
    await watcher.write(...addresses);
    await reaches(...names);
    // So many that one worker has more of them than there are pods.
    await watcher.tell(`upload ${4 * addresses.length * availableParallelism()}`);
    const patch = '{"data":{"keep-alive":"70"}}';
    await cluster.kubectl(["patch", "configmap", "ingress-nginx-controller", "-n", namespace, "-p", patch]);
    const leaving = ["pgrep", "-f", "nginx: worker process is shutting down"];
    await until(() => cluster.inside(ingressNode, leaving), {
      what: "workers that leave",
      timeoutMs: 30_000,
    });
    // Not in the second of the list before.
    await sleep(1_100);
    await watcher.write(...addresses.slice(1));
    // Each worker would have copied it.
    await sleep(2_500);
    assert.ok((await watcher.tell("finish")).includes(addresses[0] ?? ""));
    await uses(watcher, ...addresses.slice(1));
  });
});
