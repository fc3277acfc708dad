import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { until, type Cluster, type KubernetesObject } from "../cluster/index.ts";
import type { Observation } from "./recording.ts";
import type { RuntimeExit } from "./runtime-events.ts";
import { podManifest, type Meanwhile, type PodScenario } from "./scenario.ts";

interface PodObject extends KubernetesObject {
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly { readonly name: string; readonly containerID?: string }[];
    readonly initContainerStatuses?: readonly { readonly name: string; readonly containerID?: string }[];
  };
}

interface SliceObject extends KubernetesObject {
  readonly endpoints:
    | readonly {
        readonly conditions: {
          readonly ready: boolean;
          readonly serving: boolean;
          readonly terminating: boolean;
        };
      }[]
    | null;
}

interface EventObject extends KubernetesObject {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string };
}

const pods = "/api/v1/namespaces/default/pods";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
/** Reasons that say something about the end of a container; the others (Pulled, Created ...) only fill the page. */
const tellingReasons = new Set(["Killing", "FailedPreStopHook", "Unhealthy", "FailedKillPod"]);

/** Runs one scenario on a node and returns all that was seen, times still wall-clock. */
export class PodRecorder {
  readonly #cluster: Cluster;
  readonly #scenario: PodScenario;
  readonly #node: string;
  readonly #exits: readonly RuntimeExit[];
  readonly #seen: Observation[] = [];
  readonly #containers = new Map<string, string>();
  #gone = false;
  #ready = false;

  constructor(cluster: Cluster, scenario: PodScenario, node: string, exits: readonly RuntimeExit[]) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    this.#node = node;
    this.#exits = exits;
  }

  async record(): Promise<Observation[]> {
    const { api } = this.#cluster;
    const { name } = this.#scenario;
    const end = new AbortController();
    const watches = Promise.allSettled([
      this.#watchPod(end.signal),
      this.#watchSlices(end.signal),
      this.#watchEvents(end.signal),
    ]);
    try {
      await api.create("/api/v1/namespaces/default/services", serviceOf(name));
      await api.create(pods, podManifest(this.#scenario, this.#node) as KubernetesObject);
      await until(() => Promise.resolve(this.#ready), { what: `${name} Ready` });
      await new Promise((resolve) => setTimeout(resolve, this.#scenario.deleteAfterMs ?? 3_000));
      const deletedAt = Date.now();
      await this.#delete(this.#scenario.deleteGraceSeconds);
      const meanwhile = Promise.all((this.#scenario.meanwhile ?? []).map((what) => this.#do(what)));
      await until(() => Promise.resolve(this.#gone), { what: `${name} gone`, timeoutMs: 90_000 });
      await meanwhile;
      // A forced deletion leaves the containers behind for some seconds.
      await until(() => Promise.resolve(this.#allExited()), {
        what: `containers of ${name} ended`,
        timeoutMs: 60_000,
      });
      await this.#lastEndpoint();
      return [...this.#seen, ...this.#runtime(), ...(await this.#records())]
        .map((one) => ({ ...one, at: Math.round(one.at - deletedAt) }))
        .sort((a, b) => a.at - b.at);
    } finally {
      end.abort();
      await watches;
      await api.delete(`/api/v1/namespaces/default/services/${name}`).catch(() => undefined);
      await rm(this.#recordFile, { force: true });
    }
  }

  /** As seen from outside: the node's own /run. */
  get #recordFile(): string {
    return join(this.#cluster.directory, this.#node, "run", "records", `${this.#scenario.name}.jsonl`);
  }

  #note(observation: Observation): void {
    this.#seen.push(observation);
  }

  async #delete(graceSeconds: number | undefined): Promise<void> {
    const options = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
    await this.#cluster.api.delete(`${pods}/${this.#scenario.name}`, options);
  }

  async #do(what: Meanwhile): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, what.afterMs));
    this.#note({ at: Date.now(), by: "test", event: what.do });
    if (what.do === "delete-again") await this.#delete(what.graceSeconds);
    else await this.#cluster.restart(`kubelet-${this.#node.slice("node".length)}`);
  }

  async #watchPod(signal: AbortSignal): Promise<void> {
    let before = "";
    const path = `${pods}?fieldSelector=metadata.name%3D${this.#scenario.name}`;
    for await (const { type, object, receivedAt } of this.#cluster.api.watch<PodObject>(path, signal)) {
      if (type === "DELETED") {
        this.#note({ at: receivedAt, by: "pod", event: "gone" });
        this.#gone = true;
        return;
      }
      const { status, metadata } = object;
      for (const { name, containerID } of [
        ...(status?.containerStatuses ?? []),
        ...(status?.initContainerStatuses ?? []),
      ])
        if (containerID !== undefined) this.#containers.set(containerID.replace("containerd://", ""), name);
      this.#ready = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
      const deleting = metadata.deletionTimestamp !== undefined;
      const seen = { by: "pod", phase: status?.phase ?? "", ready: this.#ready, deleting } as const;
      if (JSON.stringify(seen) !== before) this.#note({ at: receivedAt, ...seen });
      before = JSON.stringify(seen);
    }
  }

  async #watchSlices(signal: AbortSignal): Promise<void> {
    let before = "";
    const path = `${slices}?labelSelector=kubernetes.io/service-name%3D${this.#scenario.name}`;
    for await (const { object, receivedAt } of this.#cluster.api.watch<SliceObject>(path, signal)) {
      const conditions = object.endpoints?.[0]?.conditions;
      const now = JSON.stringify(conditions ?? null);
      if (now === before || (conditions === undefined && before === "")) continue;
      before = now;
      if (conditions === undefined) {
        this.#note({ at: receivedAt, by: "endpoint", event: "gone" });
        continue;
      }
      const { ready, serving, terminating } = conditions;
      this.#note({ at: receivedAt, by: "endpoint", ready, serving, terminating });
    }
  }

  async #watchEvents(signal: AbortSignal): Promise<void> {
    const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${this.#scenario.name}`;
    for await (const event of this.#cluster.api.watch<EventObject>(path, signal)) {
      const { reason, message } = event.object;
      if (tellingReasons.has(reason)) this.#note({ at: event.receivedAt, by: "event", reason, message });
    }
  }

  /** The slice follows the pod by some milliseconds; a late controller may need seconds. */
  async #lastEndpoint(): Promise<void> {
    const isGone = (): boolean => this.#seen.some((one) => one.by === "endpoint" && "event" in one);
    await until(() => Promise.resolve(isGone()), {
      what: `endpoint of ${this.#scenario.name} gone`,
      timeoutMs: 60_000,
    });
  }

  #runtime(): Observation[] {
    return this.#exits.flatMap(({ at, id, container, code }) => {
      const name = this.#containers.get(container);
      // Hooks are processes of their own in the same container.
      return name === undefined || id !== container
        ? []
        : [{ at, by: "runtime", container: name, event: "exited", code }];
    });
  }

  #allExited(): boolean {
    const ended = new Set(this.#exits.filter(({ id, container }) => id === container).map(({ id }) => id));
    return [...this.#containers.keys()].every((id) => ended.has(id));
  }

  async #records(): Promise<Observation[]> {
    const text = await readFile(this.#recordFile, "utf8");
    return text
      .trim()
      .split("\n")
      .map(
        (line) => ({ by: "container", ...(JSON.parse(line) as object) }) as Observation & { detail?: string },
      )
      .map(({ detail, ...rest }) => (detail ? { ...rest, detail } : rest) as Observation);
  }
}

const serviceOf = (name: string): KubernetesObject => ({
  metadata: { name },
  spec: { selector: { scenario: name }, ports: [{ port: 80, targetPort: 8080 }] },
});
