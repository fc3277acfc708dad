import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openRoute, parseRoutes, RouteLoad } from "@lameduck/load";
import {
  type Action,
  checkRights,
  findTarget,
  inspect,
  neededRules,
  parseTarget,
  type RolloutRun,
  type RolloutSettings,
  runRollout,
  type TargetReference,
} from "../src/index.ts";
import { namespace, type FakeCluster } from "./fake-cluster.ts";

export interface Rolled {
  readonly run: RolloutRun;
  readonly warnings: readonly string[];
  readonly said: readonly string[];
}

export interface Roll {
  readonly load?: RolloutSettings["load"];
  readonly timeoutMs?: number;
  /** Of the client. */
  readonly answerTimeoutMs?: number;
  readonly undoingMs?: number;
  readonly signal?: AbortSignal;
  /** Called between the preflight and the run. */
  readonly agreed?: () => void;
}

/** Everything from the preflight to the results, as the command does it. */
export async function roll(
  cluster: FakeCluster,
  text: string,
  actionOf: (reference: TargetReference) => Action,
  options: Roll = {},
): Promise<Rolled> {
  const {
    load,
    timeoutMs = 20_000,
    answerTimeoutMs,
    undoingMs,
    signal = new AbortController().signal,
  } = options;
  const client = cluster.client(answerTimeoutMs);
  const said: string[] = [];
  try {
    const reference = parseTarget(text, namespace);
    const action = actionOf(reference);
    const { allowed } = await checkRights(client, reference, neededRules(reference, action));
    const target = await findTarget(client, reference, allowed);
    const warnings = await inspect(client, target, action);
    options.agreed?.();
    const run = await runRollout(
      {
        client,
        target,
        action,
        allowed,
        load,
        warmUpMs: 0,
        settleMs: 0,
        timeoutMs,
        ...(undoingMs === undefined ? {} : { undoingMs }),
      },
      { onProgress: () => undefined, say: (line) => said.push(line), signal },
    );
    return { run, warnings, said };
  } finally {
    client.close();
  }
}

/** A Service in front of the cluster's pods: each answer names one of those that are there. */
export class FakeService implements AsyncDisposable {
  readonly #server;
  /** Of each answer. */
  status = 200;
  #turn = 0;

  private constructor(cluster: FakeCluster) {
    this.#server = createServer((_, response) => {
      const pods = cluster
        .items("pods")
        .filter(({ metadata }) => metadata["deletionTimestamp"] === undefined)
        .map(({ metadata }) => metadata.name);
      response.setHeader("x-lameduck-pod", pods[this.#turn++ % pods.length] ?? "nobody");
      response.writeHead(this.status).end("hello\n");
    });
  }

  static async start(cluster: FakeCluster): Promise<FakeService> {
    const service = new FakeService(cluster);
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  load(bounds: { rate?: number; maxRequests?: number } = {}): RolloutSettings["load"] {
    return async (clock) => {
      const routes = await Promise.all(parseRoutes([this.url]).map((route) => openRoute(route)));
      return RouteLoad.start({
        clock,
        routes,
        rate: bounds.rate ?? 100,
        pooledShare: 0.5,
        timeout: 2_000,
        maxDuration: 120_000,
        maxRequests: bounds.maxRequests ?? 100_000,
        learn: 500,
        seed: 1,
      });
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
