import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { SenderEvent } from "@lameduck/accounting";
import type { Cluster } from "../cluster/index.ts";
import { balancerAddress, clientRange, nodeAddress } from "../cluster/network/addresses.ts";
import { changes, type Sender } from "../matrix/observe/proxies.ts";
import type { RouteOptions } from "../matrix/routes.ts";
import type { BalancerPlan, BalancerState } from "./balancer.ts";

const name = "balancer";
/** Health checks, between the defaults of clouds: every 5 s to 10 s, with two or three failures as threshold. */
const health = { intervalMs: 5_000, threshold: 2, timeoutMs: 2_000 };

export const clients = { range: clientRange, count: 5_000 };

/**
 * Sends to a pod as long as the balancer sends to its node and that node's kube-proxy to the pod. With `externalTrafficPolicy: Local` a
 * node sends to its own pods only, so that no other node's rules count.
 */
export class LocalBalancer implements Sender, AsyncDisposable {
  readonly name = name;
  readonly url = `http://${balancerAddress}/`;
  readonly events: SenderEvent[] = [];
  readonly #options: RouteOptions;
  readonly #stack: AsyncDisposableStack;
  #nodes: ReadonlySet<string> = new Set();
  #reaches: ReadonlySet<string> = new Set();

  private constructor(options: RouteOptions, stack: AsyncDisposableStack) {
    this.#options = options;
    this.#stack = stack;
  }

  static async start(options: RouteOptions): Promise<LocalBalancer> {
    const { cluster, app, proxies } = options;
    await using stack = new AsyncDisposableStack();
    const service = await publish(cluster, app);
    stack.defer(async () => {
      await cluster.kubectl(["delete", "service", service.name, "--ignore-not-found"]);
    });
    stack.use(await cluster.openEdge());
    const child = startProcess(options, service.healthPort);
    stack.defer(() => void child.kill("SIGKILL"));
    const balancer = new LocalBalancer(options, stack.move());
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const { at, sendsTo } = JSON.parse(line) as BalancerState;
      balancer.#nodes = new Set(sendsTo);
      balancer.#compare(at);
    });
    for (const proxy of proxies) proxy.onChange = (at) => balancer.#compare(at);
    return balancer;
  }

  get reaches(): ReadonlySet<string> {
    return this.#reaches;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  #compare(at: number): void {
    const { pods, proxies } = this.#options;
    const now = new Set(
      proxies
        .filter(({ node }) => this.#nodes.has(node))
        .flatMap(({ node, reaches }) => [...reaches].filter((pod) => pods.nodes.get(pod) === node)),
    );
    this.events.push(...changes(at, name, this.#reaches, now));
    this.#reaches = now;
  }
}

/** A Service of type LoadBalancer, with the address that a cloud's controller would give it. */
async function publish(cluster: Cluster, app: string): Promise<{ name: string; healthPort: number }> {
  const edge = `${app}-edge`;
  const path = "/api/v1/namespaces/default/services";
  await cluster.api.post(path, {
    metadata: { name: edge },
    spec: {
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      selector: { app },
      ports: [{ name: "http", port: 80, targetPort: 8080 }],
    },
  });
  const status = { loadBalancer: { ingress: [{ ip: balancerAddress }] } };
  const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
  await cluster.kubectl(["patch", "service", edge, ...patch]);
  const healthPort = Number(await cluster.field(["service", edge], "{.spec.healthCheckNodePort}"));
  return { name: edge, healthPort };
}

function startProcess({ cluster, clock }: RouteOptions, healthPort: number): ChildProcess {
  const plan: BalancerPlan = {
    address: balancerAddress,
    healthPort,
    nodes: cluster.nodeNames.map((node, index) => ({ name: node, address: nodeAddress(index + 1) })),
    ...health,
    origin: clock.origin,
  };
  const file = join(import.meta.dirname, "balancer.ts");
  const command = ["nice", "-n", "-20", process.execPath, file, JSON.stringify(plan)];
  const { program, args } = cluster.commandInside("edge", command);
  return spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
}
