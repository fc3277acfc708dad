import { ApiFailure, type KubernetesClient, type KubernetesObject } from "@lameduck/kube";

/** A namespace of pods that nobody runs: the API server stores them, and their kubelets and controllers are in this folder. */
const namespace = "hollow";
const path = `/api/v1/namespaces/${namespace}`;
const slices = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
const podsPerService = 100;

export interface HollowPod {
  readonly name: string;
  readonly uid: string;
  readonly address: string;
  readonly service: number;
}

interface Endpoint {
  readonly addresses: readonly string[];
  readonly conditions: { readonly ready: boolean; readonly serving: boolean; readonly terminating: boolean };
  readonly nodeName: string;
  readonly targetRef: {
    readonly kind: "Pod";
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  };
}

export const hollowNode = (index: number): string => `hollow-${index + 1}`;

/** 16 million addresses, which the machine where all of it runs calls its own. */
export const addressRange = "10.0.0.0/8";
const addressOf = (number: number): string =>
  `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;

export class HollowCluster {
  readonly #api: KubernetesClient;
  readonly #nodes: number;
  /** By Service; what its EndpointSlice says. */
  readonly #endpoints = new Map<number, Map<string, Endpoint>>();
  readonly #writing = new Map<number, Promise<void>>();
  readonly #waiting = new Map<number, Promise<void>>();
  readonly pods: HollowPod[] = [];
  #made = 0;

  constructor(api: KubernetesClient, nodes: number) {
    this.#api = api;
    this.#nodes = nodes;
  }

  /** Nodes, Services and running pods. */
  async make(pods: number): Promise<void> {
    await this.#api.post("/api/v1/namespaces", { metadata: { name: namespace } }).catch(unlessThere);
    await inParallel(this.#nodes, (index) => this.#makeNode(index));
    const services = Math.ceil(pods / podsPerService);
    await inParallel(services, (index) => this.#makeService(index));
    await inParallel(pods, async (index) => {
      this.pods.push(await this.makePod(index % services));
    });
    await inParallel(services, (index) => this.publish(index));
  }

  async #makeNode(index: number): Promise<void> {
    const name = hollowNode(index);
    await this.#api.post("/api/v1/nodes", { metadata: { name } }).catch(unlessThere);
    const now = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const ready = {
      type: "Ready",
      status: "True",
      reason: "HollowNode",
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };

    await this.#api.patch(`/api/v1/nodes/${name}/status`, { status: { conditions: [ready] } });
  }

  async #makeService(index: number): Promise<void> {
    const name = serviceName(index);
    const ports = [{ port: 80, targetPort: 8080 }];
    await this.#api.post(`${path}/services`, {
      metadata: { name },
      spec: { selector: { app: name }, ports },
    });
    this.#endpoints.set(index, new Map());
    await this.#api.post(slices, this.#slice(index));
  }

  /** A running pod, not yet among the endpoints. */
  async makePod(service: number): Promise<HollowPod> {
    const number = ++this.#made;
    const app = serviceName(service);
    const name = `${app}-${number}`;
    const nodeName = hollowNode(number % this.#nodes);
    const address = addressOf(number);
    const { metadata } = await this.#api.post<KubernetesObject>(`${path}/pods`, {
      metadata: { name, labels: { app } },
      spec: {
        nodeName,
        automountServiceAccountToken: false,
        containers: [{ name: "main", image: "none", ports: [{ containerPort: 8080 }] }],
      },
    });
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }], conditions };
    await this.#api.patch(`${path}/pods/${name}/status`, { status }, "merge-patch");
    const pod = { name, uid: metadata.uid, address, service };
    this.#put(pod, nodeName, true);
    return pod;
  }

  /** The API server marks it; its kubelet is `end`. */
  async delete({ name }: HollowPod): Promise<void> {
    await this.#api.delete(`${path}/pods/${name}`, { gracePeriodSeconds: 60 });
  }

  /** What the EndpointSlice controller does after a deletion. */
  withdraw(pod: HollowPod): Promise<void> {
    this.#put(pod, this.#endpoints.get(pod.service)?.get(pod.uid)?.nodeName ?? "", false);
    return this.publish(pod.service);
  }

  /** The container has exited: the object goes, and its endpoint. */
  async end(pod: HollowPod): Promise<void> {
    await this.#api.delete(`${path}/pods/${pod.name}`, { gracePeriodSeconds: 0 });
    this.#endpoints.get(pod.service)?.delete(pod.uid);
    await this.publish(pod.service);
  }

  /** Writes what is known at the time of writing. One write of a slice is under way, and one waits for all that changes meanwhile. */
  publish(service: number): Promise<void> {
    const waiting = this.#waiting.get(service);
    if (waiting) return waiting;
    const before = this.#writing.get(service) ?? Promise.resolve();
    const written = before.then(async () => {
      this.#waiting.delete(service);
      await this.#api.put(`${slices}/${serviceName(service)}`, this.#slice(service));
    });
    this.#waiting.set(service, written);
    this.#writing.set(
      service,
      written.catch(() => undefined),
    );
    return written;
  }

  #put(pod: HollowPod, nodeName: string, ready: boolean): void {
    this.#endpoints.get(pod.service)?.set(pod.uid, {
      addresses: [pod.address],
      conditions: { ready, serving: true, terminating: !ready },
      nodeName,
      targetRef: { kind: "Pod", namespace, name: pod.name, uid: pod.uid },
    });
  }

  #slice(index: number): object {
    const name = serviceName(index);
    return {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: [...(this.#endpoints.get(index)?.values() ?? [])],
      ports: [{ port: 8080 }],
    };
  }
}

const serviceName = (index: number): string => `service-${index + 1}`;

function unlessThere(error: unknown): void {
  if (!(error instanceof ApiFailure) || error.status !== 409) throw error;
}

/** At most 16 at a time. */
export async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(16, count) }, async () => {
      while (next < count) await work(next++);
    }),
  );
}
