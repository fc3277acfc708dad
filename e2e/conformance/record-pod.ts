import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  isReady,
  orUndefined,
  type Change,
  type EndpointSlice,
  type Event,
  type Node,
  type Pod,
} from "@lameduck/kube";
import { Logind } from "../cluster/logind.ts";
import { follow, until, type Cluster } from "../cluster/index.ts";
import type { Observation } from "./recording.ts";
import type { RuntimeExit } from "./runtime-events.ts";
import { overfill, podManifest, type Meanwhile, type PodScenario } from "./scenario.ts";

const pods = "/api/v1/namespaces/default/pods";
const events = "/api/v1/namespaces/default/events";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
/** Reasons that say something about the end of a container; the others (Pulled, Created ...) only fill the page. */
const relevantReasons = new Set(["Killing", "FailedPreStopHook", "Unhealthy", "FailedKillPod"]);

/** What a node that shuts down leaves to all pods, and the last part of it, which it leaves to critical ones. */
const shutdownPeriods = { seconds: 14, criticalSeconds: 2 };

type NodeWithTaints = Node & {
  readonly spec: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
};

/** Runs one scenario on a node and returns all that was seen, times still wall-clock. */
export class PodRecorder {
  readonly #cluster: Cluster;
  readonly #scenario: PodScenario;
  readonly #node: string;
  readonly #exits: readonly RuntimeExit[];
  readonly #seen: Observation[] = [];
  readonly #containers = new Map<string, string>();
  #gone = false;
  #uid = "";
  #phase = "";
  #ready = false;
  #lastPod = "";
  #lastEndpoint = "";
  #lastNode = "";

  constructor(cluster: Cluster, scenario: PodScenario, node: string, exits: readonly RuntimeExit[]) {
    this.#cluster = cluster;
    this.#scenario = scenario;
    this.#node = node;
    this.#exits = exits;
  }

  async record(): Promise<Observation[]> {
    const { api } = this.#cluster;
    const { name, endedBy } = this.#scenario;
    await using logind =
      endedBy === "shutdown" ? await Logind.start(this.#cluster, this.#node, shutdownPeriods) : undefined;
    const following = await Promise.all([
      follow<Pod>(api, pods, { fieldSelector: `metadata.name=${name}` }, (change) => this.#onPod(change)),
      follow<EndpointSlice>(api, slices, { labelSelector: `kubernetes.io/service-name=${name}` }, (change) =>
        this.#onSlice(change),
      ),
      follow<Event>(api, events, { fieldSelector: `involvedObject.name=${name}` }, (change) =>
        this.#onEvent(change),
      ),
      ...(logind === undefined
        ? []
        : [
            follow<NodeWithTaints>(
              api,
              "/api/v1/nodes",
              { fieldSelector: `metadata.name=${this.#node}` },
              (change) => this.#onNode(change),
            ),
          ]),
    ]);
    try {
      await api.post("/api/v1/namespaces/default/services", serviceOf(name));
      await api.post(pods, podManifest(this.#scenario, this.#node));
      await until(() => Promise.resolve(this.#ready), { what: `${name} Ready` });
      await new Promise((resolve) => setTimeout(resolve, this.#scenario.deleteAfterMs ?? 3_000));
      let deletedAt = Date.now();
      if (logind !== undefined) await logind.announce(true);
      else if (endedBy === "full-volume") {
        await overfill(this.#cluster, this.#node, this.#uid);
        deletedAt = Date.now();
      }
      if (endedBy !== undefined) {
        const ended = (): boolean => this.#gone || this.#phase === "Failed";
        await until(() => Promise.resolve(ended()), { what: `end of ${name}`, timeoutMs: 150_000 });
      }
      await this.#delete(this.#scenario.deleteGraceSeconds);
      const meanwhile = Promise.all((this.#scenario.meanwhile ?? []).map((what) => this.#do(what)));
      await until(() => Promise.resolve(this.#gone), { what: `${name} gone`, timeoutMs: 90_000 });
      await meanwhile;
      // A forced deletion leaves the containers behind for some seconds.
      await until(() => Promise.resolve(this.#allExited()), {
        what: `containers of ${name} ended`,
        timeoutMs: 60_000,
      });
      await this.#endpointGone();
      await logind?.cancel();
      return [...this.#seen, ...this.#runtime(), ...(await this.#records())]
        .map((one) => ({ ...one, at: Math.round(one.at - deletedAt) }))
        .sort((a, b) => a.at - b.at);
    } finally {
      await Promise.all(following.map((one) => one.stop()));
      await api.delete(`/api/v1/namespaces/default/services/${name}`).catch(() => undefined);
      await rm(this.#recordFile, { force: true });
    }
  }

  /** As seen from outside: the node's own /run. */
  get #recordFile(): string {
    return join(this.#cluster.directory, this.#node, "run", "records", `${this.#scenario.name}.jsonl`);
  }

  async #delete(graceSeconds: number | undefined): Promise<void> {
    const options = graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds };
    const deleting = this.#cluster.api.delete(`${pods}/${this.#scenario.name}`, options);
    // Something else may have deleted it, and its end may have come first.
    await (this.#scenario.endedBy === undefined ? deleting : orUndefined(deleting, 404));
  }

  async #do(what: Meanwhile): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, what.afterMs));
    this.#seen.push({ at: Date.now(), by: "test", event: what.do });
    if (what.do === "delete-again") await this.#delete(what.graceSeconds);
    else await this.#cluster.restart(`kubelet-${this.#node.slice("node".length)}`);
  }

  #onPod({ type, object: { status, metadata }, at }: Change<Pod>): void {
    if (type === "gone") {
      this.#seen.push({ at, by: "pod", event: "gone" });
      this.#gone = true;
      return;
    }
    for (const { name, containerID } of [
      ...(status?.containerStatuses ?? []),
      ...(status?.initContainerStatuses ?? []),
    ])
      if (containerID !== undefined) this.#containers.set(containerID.replace("containerd://", ""), name);
    this.#uid = metadata.uid;
    this.#phase = status?.phase ?? "";
    this.#ready = isReady({ status });
    const deleting = metadata.deletionTimestamp !== undefined;
    const seen = { by: "pod", phase: status?.phase ?? "", ready: this.#ready, deleting } as const;
    const now = JSON.stringify(seen);
    if (now !== this.#lastPod) this.#seen.push({ at, ...seen });
    this.#lastPod = now;
  }

  #onNode({ object, at }: Change<NodeWithTaints>): void {
    const ready = object.status?.conditions?.find(({ type }) => type === "Ready");
    const taints = (object.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
    const seen = {
      by: "node",
      ready: ready?.status === "True",
      message: ready?.message ?? "",
      taints,
    } as const;
    const now = JSON.stringify(seen);
    if (now !== this.#lastNode) this.#seen.push({ at, ...seen });
    this.#lastNode = now;
  }

  #onSlice({ type, object, at }: Change<EndpointSlice>): void {
    const conditions = type === "gone" ? undefined : object.endpoints?.[0]?.conditions;
    const now = JSON.stringify(conditions ?? null);
    if (now === this.#lastEndpoint || (conditions === undefined && this.#lastEndpoint === "")) return;
    this.#lastEndpoint = now;
    if (conditions === undefined) {
      this.#seen.push({ at, by: "endpoint", event: "gone" });
      return;
    }
    const { ready = false, serving = false, terminating = false } = conditions;
    this.#seen.push({ at, by: "endpoint", ready, serving, terminating });
  }

  #onEvent({ object: { reason = "", message = "" }, at }: Change<Event>): void {
    if (relevantReasons.has(reason)) this.#seen.push({ at, by: "event", reason, message });
  }

  /** The slice follows the pod by some milliseconds; a late controller may need seconds. */
  async #endpointGone(): Promise<void> {
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

const serviceOf = (name: string): object => ({
  metadata: { name },
  spec: { selector: { scenario: name }, ports: [{ port: 80, targetPort: 8080 }] },
});
