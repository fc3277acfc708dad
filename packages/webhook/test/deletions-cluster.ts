import { request as httpsRequest } from "node:https";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { ServerClock } from "@lameduck/kube";
import { FakeApi, type Answer, type Item } from "../../kube/test/fake-api.ts";
import { AdmissionServer } from "../src/admission/server.ts";
import { DeletionHolder, type HandledCall } from "../src/deletions/deletion-holder.ts";
import { HeldPods } from "../src/deletions/pods.ts";
import { coordinatorSource } from "../src/deletions/consumers.ts";
import { EndpointView } from "../src/deletions/endpoints.ts";
import { alwaysExempt } from "../src/deletions/settings.ts";
import { ClusterView } from "../src/cluster-view.ts";
import { listenLocally } from "./local-server.ts";
import { until } from "../../cluster/test/operator-api.ts";

/** Takes merge patches, and withdraws pods from their slice as the controller does. */
export class PodApi extends FakeApi {
  /** Milliseconds. */
  controllerLag = 0;

  static override async start(): Promise<PodApi> {
    const api = new PodApi();
    await api.listen();
    return api;
  }

  protected override act(method: string, resource: string, name: string, _sub: string, body: Item): Answer {
    const known = this.get(resource, name);
    if (!known) return { status: 404, body: { reason: "NotFound", message: `${name} not found` } };
    if (method !== "PATCH") return { status: 405, body: { message: "not served" } };
    const { uid, resourceVersion } = body.metadata ?? {};
    if (
      (uid && uid !== known.metadata.uid) ||
      (resourceVersion && resourceVersion !== known.metadata.resourceVersion)
    )
      return { status: 409, body: { reason: "Conflict", message: "it has changed" } };
    const changed = this.change(resource, name, body);
    if (resource === "pods") setTimeout(() => this.reconcile(), this.controllerLag);
    return { status: 200, body: changed };
  }

  /** As the EndpointSlice controller would, for one Service that selects app=web. */
  reconcile(): void {
    const pods = this.items("pods").filter(
      ({ metadata }) => (metadata["labels"] as Record<string, string> | undefined)?.["app"] === "web",
    );
    const endpoints = pods.map(({ metadata }) => ({
      conditions: { ready: metadata["deletionTimestamp"] === undefined },
      targetRef: { kind: "Pod", uid: metadata.uid },
    }));
    this.put("discovery.k8s.io/endpointslices", "web-1", {
      metadata: { uid: "slice", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
      endpoints,
    });
  }

  pod(name: string, changes: { metadata?: object; spec?: object } = {}): Item {
    const pod = this.put("pods", name, {
      spec: { containers: [], ...changes.spec },
      status: { conditions: [{ type: "Ready", status: "True" }] },
      metadata: {
        namespace: "shop",
        labels: { app: "web", "pod-template-hash": "1", team: "a" },
        ownerReferences: [{ kind: "ReplicaSet", name: "web-1", uid: "rs", controller: true }],
        ...changes.metadata,
      },
    });
    this.reconcile();
    return pod;
  }
}

export const surgePath = "/surge/secret";

export interface Called {
  readonly allowed: boolean;
  readonly code: number | undefined;
  readonly retryAfter: number | undefined;
  readonly message: string | undefined;
  readonly took: number;
}

export interface HolderSettings {
  readonly limit?: number;
  readonly mostAtOnce?: number;
  readonly replacement?: number;
  readonly evictionLimit?: number;
  readonly surgeReplacement?: number;
  readonly coordinator?: string;
  /** Deletions and evictions are not held. */
  readonly surgesAlone?: boolean;
  readonly nodeShutdowns?: boolean;
}

/** One replica that holds deletions, reached by HTTPS as the API server reaches it. */
export async function replicaOf(api: PodApi, settings: HolderSettings = {}) {
  const client = api.client();
  const problems: unknown[] = [];
  const judged: HandledCall[] = [];
  let restored = 0;
  const onProblem = (_part: string, error: unknown): void => void problems.push(error);
  const view = new ClusterView(client, { onProblem });
  const { coordinator, surgesAlone, nodeShutdowns, ...limits } = settings;
  const held = surgesAlone
    ? undefined
    : {
        endpoints: new EndpointView(client, onProblem),
        consumers: coordinator === undefined ? undefined : coordinatorSource(coordinator, undefined),
      };
  const withdrawn: string[] = [];
  const holder = new DeletionHolder({
    isLeader: () => true,
    shutdowns: nodeShutdowns
      ? { enabled: () => view.enabled(), onWithdrawn: ({ metadata }) => withdrawn.push(metadata.name) }
      : undefined,
    dependencies: {
      client,
      pods: new HeldPods(client, view, "lameduck-system"),
      settings: {
        limit: 20_000,
        mostAtOnce: 5,
        replacement: 20_000,
        evictionLimit: 20_000,
        surgeReplacement: 20_000,
        exempt: alwaysExempt,
        ownNamespace: "lameduck-system",
        ...limits,
      },
      now: ServerClock.of(client).now,
      onRestored: () => restored++,
      onProblem,
    },
    held,
    onCall: (one) => judged.push(one),
  });
  const server = new AdmissionServer({
    mutate: () => ({ allowed: true }),
    validate: () => ({ allowed: true }),
    guarded: [
      { review: holder.review, isTrustedPath: (path) => path === "/hold/secret" },
      { review: holder.reviewSurge, isTrustedPath: (path) => path === surgePath },
    ],
    notReady: () => undefined,
  });
  const { port, ca } = await listenLocally(server);
  view.start();
  holder.start();
  const isRead = (): boolean => view.selecting("shop", {}) !== undefined && held?.endpoints.isKnown !== false;
  await until(isRead, "everything read");
  return {
    holder,
    judged,
    problems,
    /** Pods of nodes that shut down. */
    withdrawn,
    restored: () => restored,
    outcomes: () => judged.map(({ outcome }) => outcome),
    /** @param leave breaks the connection when it aborts. */
    call: (request: object, leave?: AbortSignal, path?: string): Promise<Called> =>
      call(port, ca, request, leave, path),
    async [Symbol.asyncDispose](): Promise<void> {
      await holder.stop();
      await view.stop();
      await server.close();
      client.close();
    },
  };
}

export const deletion = (pod: Item, changes: object = {}): object => ({
  uid: "u",
  kind: { group: "", version: "v1", kind: "Pod" },
  operation: "DELETE",
  namespace: "shop",
  name: pod.metadata.name,
  userInfo: { username: "person", groups: [] },
  oldObject: pod,
  options: {},
  ...changes,
});

export const eviction = (pod: Item, changes: object = {}): object => ({
  uid: "u",
  kind: { group: "policy", version: "v1", kind: "Eviction" },
  subResource: "eviction",
  operation: "CREATE",
  namespace: "shop",
  name: pod.metadata.name,
  userInfo: { username: "person", groups: [] },
  object: { metadata: { name: pod.metadata.name } },
  ...changes,
});

function call(
  port: number,
  ca: string,
  request: object,
  leave?: AbortSignal,
  path = "/hold/secret",
): Promise<Called> {
  const began = performance.now();
  const body = JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });
  const options = {
    host: "127.0.0.1",
    servername: "localhost",
    port,
    ca,
    path: `${path}?timeout=30s`,
    method: "POST",
    headers: { "content-type": "application/json" },
    agent: false as const,
    ...(leave ? { signal: leave } : {}),
  };
  return new Promise((resolve, reject) => {
    httpsRequest(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => {
        const { response: said } = JSON.parse(text) as {
          response: {
            allowed: boolean;
            status?: { code: number; message: string; details?: { retryAfterSeconds: number } };
          };
        };
        resolve({
          allowed: said.allowed,
          code: said.status?.code,
          retryAfter: said.status?.details?.retryAfterSeconds,
          message: said.status?.message,
          took: performance.now() - began,
        });
      });
    })
      .on("error", reject)
      .end(body);
  });
}

/** A coordinator that says what it is told to say. */
export async function coordinatorSaying(
  say: (asked: URL) => string | undefined,
): Promise<{ readonly url: string; readonly asked: URL[]; [Symbol.asyncDispose](): Promise<void> }> {
  const asked: URL[] = [];
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://coordinator");
    asked.push(url);
    const text = say(url);
    if (text === undefined) request.socket.destroy();
    else response.end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
