import { request } from "node:http";
import { pino } from "pino";
import { connectionTo } from "../../kube/test/api-server.ts";
import { FakeApi, type Answer, type Item } from "../../kube/test/fake-api.ts";
import { Coordinator } from "../src/coordinator.ts";
import { parseCoordinatorFlags } from "../src/flags.ts";
import { addedWithinMs } from "@lameduck/cluster";
import {
  type CoordinatorAnswer,
  parseCoordinatorAnswer,
  parseStreamAnswer,
  streamProtocol,
} from "@lameduck/protocol";
import { steadyNow, type TerminationListener } from "../src/termination-view.ts";
import { until } from "../../cluster/test/operator-api.ts";

/** Who a token is of, as a TokenReview says. */
export interface TokenOwner {
  /** "NAMESPACE:NAME" */
  readonly account: string;
  readonly audiences?: readonly string[];
  readonly node?: string;
  readonly podUid?: string;
}

/** An API server that knows tokens: any text is one. */
export class CoordinatorApi extends FakeApi {
  readonly tokens = new Map<string, TokenOwner>();
  reviews = 0;

  static override async start(): Promise<CoordinatorApi> {
    const api = new CoordinatorApi();
    await api.listen();
    return api;
  }

  protected override act(method: string, resource: string, _name: string, _sub: string, body: Item): Answer {
    if (method !== "POST" || resource !== "authentication.k8s.io/tokenreviews")
      return { status: 405, body: { message: "not served" } };
    this.reviews++;
    const { token } = body["spec"] as { token: string };
    const owner = this.tokens.get(token);
    if (!owner) return { status: 201, body: { status: { authenticated: false } } };
    const { account, audiences = ["lameduck"], node, podUid } = owner;
    const extra = {
      ...(node === undefined ? {} : { "authentication.kubernetes.io/node-name": [node] }),
      ...(podUid === undefined ? {} : { "authentication.kubernetes.io/pod-uid": [podUid] }),
    };
    const user = { username: `system:serviceaccount:${account}`, extra };
    return { status: 201, body: { status: { authenticated: true, audiences, user } } };
  }
}

const slices = "discovery.k8s.io/endpointslices";

/** Objects as a cluster writes them; all pods are in namespace shop, behind Service web. */
export class Scene {
  readonly api: CoordinatorApi;
  readonly #endpoints = new Map<string, { ready: boolean; terminating: boolean }>();
  #generation = 0;

  constructor(api: CoordinatorApi) {
    this.api = api;
    api.put("services", "web", { metadata: { namespace: "shop" }, spec: { clusterIP: "10.96.0.1" } });
    this.#slice();
  }

  node(name: string, ready = true): void {
    const status = {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      addresses: [{ type: "InternalIP", address: `192.168.0.${name.replace(/\D/g, "")}` }],
    };
    if (this.api.get("nodes", name)) this.api.change("nodes", name, { status });
    else
      this.api.put("nodes", name, { spec: { podCIDRs: [`10.244.${name.replace(/\D/g, "")}.0/24`] }, status });
    this.api.tokens.set(`token-${name}`, { account: "lameduck-node:lameduck-watcher", node: name });
  }

  /** @returns its uid. */
  pod(name: string, address = "127.0.0.1", fields: { spec?: object; status?: object } = {}): string {
    const { metadata } = this.api.put("pods", name, {
      metadata: { namespace: "shop" },
      spec: { nodeName: "node1", containers: [{ name: "app" }], ...fields.spec },
      status: { phase: "Running", podIPs: [{ ip: address }], ...fields.status },
    });
    this.#endpoints.set(name, { ready: true, terminating: false });
    this.#slice();
    return metadata.uid;
  }

  /** The deletion is written; the endpoints follow by `withdraw`. */
  terminate(name: string): void {
    const deletionTimestamp = new Date(Date.now() + 30_000).toISOString();
    this.api.change("pods", name, { metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 } });
  }

  withdraw(name: string): void {
    this.#endpoints.set(name, { ready: false, terminating: true });
    this.#slice();
  }

  gone(name: string): void {
    this.api.remove("pods", name);
    this.#endpoints.delete(name);
    this.#slice();
  }

  /** Writes the endpoints anew, so that watches give a sign of life. */
  touch(): void {
    this.#slice();
  }

  #slice(): void {
    const labels = { "kubernetes.io/service-name": "web" };
    const fields = {
      metadata: { namespace: "shop", labels, generation: ++this.#generation },
      endpoints: Array.from(this.#endpoints, ([name, conditions]) => ({
        conditions,
        targetRef: { kind: "Pod", name, uid: this.api.get("pods", name)?.metadata.uid },
      })),
    };
    if (this.api.get(slices, "web-1")) this.api.change(slices, "web-1", fields);
    else this.api.put(slices, "web-1", fields);
  }
}

export interface Answered {
  readonly status: number;
  readonly text: string;
}

export interface Coordinating extends AsyncDisposable {
  readonly api: CoordinatorApi;
  readonly scene: Scene;
  readonly coordinator: Coordinator;
  readonly port: number;
  readonly metricsPort: number;
  /** Warnings and errors, as lines of JSON. */
  readonly logged: readonly string[];
  /** One request from an address of this machine: 127.0.0.0/8. */
  ask(
    this: void,
    options: {
      readonly method?: string;
      readonly path: string;
      readonly from?: string;
      readonly token?: string;
      readonly body?: string;
    },
  ): Promise<Answered>;
  /** One line on a stream of its own. @param name "kube-proxy/node1". @returns the answer to it, or to the request for the stream. */
  tell(
    this: void,
    name: string,
    line: string,
    shown?: { readonly token?: string; readonly from?: string },
  ): Promise<Answered>;
  /** As the kube-proxy of a node. */
  report(this: void, node: string, fields?: object, token?: string): Promise<CoordinatorAnswer>;
  /** As the watcher of each node does: it applies everything that it is told, at once. */
  follow(this: void, node: string): Promise<void>;
}

/** A coordinator with its real HTTP server in this process, over a fake API server. */
export async function coordinating(
  fill: (scene: Scene) => void = () => undefined,
  {
    flags = [],
    listeners = [],
    now = steadyNow,
    age = addedWithinMs,
  }: {
    readonly flags?: readonly string[];
    readonly listeners?: readonly TerminationListener[];
    readonly now?: () => number;
    /** Milliseconds that have passed since it has found the pods. */
    readonly age?: number;
  } = {},
): Promise<Coordinating> {
  let aged = 0;
  const logged: string[] = [];
  const api = await CoordinatorApi.start();
  const scene = new Scene(api);
  fill(scene);
  const parsed = parseCoordinatorFlags(
    ["--port=0", "--metrics-port=0", "--address=127.0.0.1", "--namespace=lameduck-system", ...flags],
    { POD_NAME: "one" },
  );
  if (!parsed) throw new Error("help was asked for");
  const coordinator = new Coordinator({
    flags: parsed,
    client: api.client(),
    connection: connectionTo(api.url),
    log: pino({ level: "warn" }, { write: (line: string) => void logged.push(line) }),
    listeners,
    now: () => now() + aged,
    retryMs: 50,
    firstReportsTimeoutMs: 0,
  });
  const ports = await coordinator.start();
  await until(() => coordinator.notReady() === undefined, "everything read");
  aged = age;
  scene.touch();
  const ask: Coordinating["ask"] = ({ method = "GET", path, from = "127.0.0.1", token, body }) =>
    new Promise((resolve, reject) => {
      const sent = request(
        {
          host: "127.0.0.1",
          port: ports.port,
          localAddress: from,
          method,
          path,
          agent: false,
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        },
      );
      sent.on("error", reject);
      sent.end(body);
    });
  const tell: Coordinating["tell"] = (name, line, { token, from = "127.0.0.1" } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port: ports.port,
        localAddress: from,
        path: `/v1/consumers/${encodeURIComponent(name)}`,
        agent: false,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          connection: "Upgrade",
          upgrade: streamProtocol,
        },
      });
      sent.on("upgrade", (_response, socket, head) => {
        let text = head.toString("utf8");
        const read = (): void => {
          if (!text.includes("\n")) return;
          socket.destroy();
          const answer = parseStreamAnswer(text.slice(0, text.indexOf("\n")));
          if (answer) resolve(answer);
          else reject(new Error(`no answer: ${text}`));
        };
        socket.setEncoding("utf8").on("data", (chunk: string) => ((text += chunk), read()));
        socket.on("close", () => reject(new Error("no answer"))).on("error", reject);
        socket.write(`${line}\n`);
        read();
      });
      sent.on("response", (response) => {
        response.resume();
        resolve({ status: response.statusCode ?? 0, text: "" });
      });
      sent.on("error", reject);
      sent.end();
    });
  const report: Coordinating["report"] = async (node, fields = {}, token = `token-${node}`) => {
    const common = { version: 1, kind: "kube-proxy", node, basis: "rules", epoch: null };
    const line = JSON.stringify({ ...common, applied: 0, known: 0, wait: 0, ...fields });
    const { status, text } = await tell(`kube-proxy/${node}`, line, { token });
    if (status !== 200) throw new Error(`${status}: ${text}`);
    return parseCoordinatorAnswer(text);
  };
  return {
    api,
    scene,
    coordinator,
    ...ports,
    logged,
    ask,
    tell,
    report,
    async follow(node) {
      const { epoch, head } = await report(node);
      await report(node, { epoch, applied: head, known: head });
    },
    async [Symbol.asyncDispose]() {
      await coordinator.stop();
      await api.stop();
    },
  };
}

/** The answer to a pod, by its keys. */
export function fieldsOf(text: string): Readonly<Record<string, string>> {
  const [first, ...lines] = text.trimEnd().split("\n");
  if (first !== "lameduck 1") throw new Error(`not of version 1: ${text}`);
  return Object.fromEntries(lines.map((line) => line.split(": ", 2) as [string, string]));
}

/** A pod of which its one node has let go. */
export async function withdrawn(
  fill: (scene: Scene) => void,
  options: Parameters<typeof coordinating>[1] = {},
): Promise<{
  readonly all: Coordinating;
  readonly state: () => Promise<string>;
  /** For how many seconds after the withdrawal the answer says that somebody is assumed to send. */
  readonly assumed: () => Promise<number>;
}> {
  let uid = "";
  const all = await coordinating((scene) => {
    scene.node("node1");
    uid = scene.pod("web-1", "127.0.0.5");
    fill(scene);
  }, options);
  const path = `/v1/pods/shop/web-1?uid=${uid}`;
  await all.follow("node1");
  all.scene.terminate("web-1");
  all.scene.withdraw("web-1");
  await until(() => [...all.coordinator.terminations.values()].some((one) => one.sequence), "the withdrawal");
  await all.follow("node1");
  const answer = async (): Promise<ReturnType<typeof fieldsOf>> =>
    fieldsOf((await all.ask({ path, from: "127.0.0.5" })).text);
  return {
    all,
    state: async () => {
      const { state, behind = "" } = await answer();
      return `${state} ${behind}`.trim();
    },
    assumed: async () => {
      const { "withdrawn-ms": since, "assumed-ms": left } = await answer();
      return left === undefined ? 0 : Math.round((Number(since) + Number(left)) / 100) / 10;
    },
  };
}
