import { setTimeout as delay } from "node:timers/promises";
import {
  type KubernetesClient,
  Follower,
  ServerClock,
  hasStatus,
  isReady,
  type Change,
  type FollowCounts,
  type EndpointSlice,
  type Event,
  type KubernetesObject,
  type Node,
  type Pod,
  type Workload,
} from "@lameduck/kube";
import { messageOf, orAborted } from "@lameduck/drain/common";
import { heldMark } from "@lameduck/protocol";
import { hasReplicaSets, nameOf, pathOf, replicaSets, resources } from "../target-reference.ts";
import type { Target } from "../target.ts";
import { EndpointHistory } from "./endpoints.ts";
import { isHeld, OwnedPods } from "./ownership.ts";
import { followPhases } from "./phases.ts";
import { PodHistory } from "./pods.ts";

/** The collections that may be followed beside the pods. The others are left out. */
export interface Allowed {
  readonly endpointSlices: boolean;
  readonly events: boolean;
  readonly nodes: boolean;
  readonly logs: boolean;
  readonly replicaSets: boolean;
}

interface ObservationOptions {
  readonly client: KubernetesClient;
  readonly target: Target;
  readonly allowed: Allowed;
  /** Something worth a line while it goes on. */
  readonly say: (line: string) => void;
  /** The observation cannot go on: an essential collection can no longer be followed. */
  readonly onFailure: (error: Error) => void;
  /** Ends a start that is under way. */
  readonly signal: AbortSignal;
}

/** Questions that narrow down the difference of the clocks. Each halves the uncertainty: 0.5 s after one, some 10 ms after seven. */
const questions = 8;

/** Slices and pods are followed by watches of their own: one may be a little ahead of the other. */
const watchSkewMs = 250;

/** Everything that is followed of a target in its cluster. */
export class Observation {
  readonly pods: PodHistory;
  readonly endpoints = new EndpointHistory();
  readonly clock = new ServerClock();
  readonly #options: ObservationOptions;
  readonly #followers: { readonly stop: () => Promise<void>; readonly counts: FollowCounts }[] = [];
  readonly #stop = new AbortController();
  readonly #logs = new Map<string, Promise<unknown>>();
  readonly #nodes = new Map<string, string>();
  readonly #lost: string[] = [];
  /** UIDs of pods whose deletion was held. */
  readonly #held = new Set<string>();
  #asking: Promise<void> = Promise.resolve();
  #workload: Workload | undefined;
  #deleted = false;

  private constructor(options: ObservationOptions) {
    this.#options = options;
    this.pods = new PodHistory(this.clock);
    if (options.target.reference.kind !== "pod") this.#workload = options.target.owner?.object;
  }

  /** Resolves when every collection has been listed once. */
  static async start(options: ObservationOptions): Promise<Observation> {
    const observation = new Observation(options);
    try {
      await orAborted(observation.#start(), options.signal);
    } catch (error) {
      await observation.stop();
      throw error;
    }
    return observation;
  }

  /** The workload as it is now; undefined for a pod that nobody replaces. */
  get workload(): Workload | undefined {
    return this.#workload;
  }

  /** The workload itself was deleted: its pods are not replaced any more. */
  get deleted(): boolean {
    return this.#deleted;
  }

  get counts(): FollowCounts {
    const sum = { interrupted: 0, expired: 0, lists: 0, bookmarks: 0 };
    for (const { counts } of this.#followers)
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += counts[key];
    return sum;
  }

  /** From each pod's deletion until it was ready in no EndpointSlice any more. */
  get withdrawalsMs(): number[] {
    return this.pods.facts.flatMap(({ name, deleted, isLeftover }) => {
      if (isLeftover) return [];
      const withdrawn = deleted && this.endpoints.withdrawnFrom(name, deleted.at.to - watchSkewMs);
      return withdrawn === undefined ? [] : [Math.max(0, withdrawn - deleted!.at.to)];
    });
  }

  /** What could no longer be followed from some moment on, a sentence each. */
  get lost(): readonly string[] {
    return this.#lost;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#asking, ...this.#followers.map((one) => one.stop()), ...this.#logs.values()]);
  }

  async #start(): Promise<void> {
    const { client, target, allowed } = this.#options;
    const { namespace } = target.reference;
    client.onServerTime((time) => this.clock.note(time));
    const owned = new OwnedPods(
      target,
      (change) => this.#takePod(change),
      (pod) => this.#giveUp(pod),
    );
    if (target.owner && hasReplicaSets(target.owner.reference.kind))
      await this.#follow(pathOf(replicaSets, namespace), target.podQuery, (change) => owned.takeSet(change));
    await this.#follow<Pod>(pathOf(resources.pod, namespace), target.podQuery, (change) =>
      owned.takePod(change),
    );
    // A pod whose deletion is held has lost the labels by which it is found, and its owner perhaps.
    await this.#follow<Pod>(pathOf(resources.pod, namespace), { labelSelector: heldMark }, (change) =>
      this.#takeHeld(change),
    );
    this.pods.begin();
    // Of a pod's owner it is enough to know how many pods it wants.
    if (target.owner && target.reference.kind !== "pod") {
      const { kind, name } = target.owner.reference;
      const query = { fieldSelector: `metadata.name=${name}` };
      await this.#follow<Workload>(pathOf(resources[kind], namespace), query, ({ type, object }) => {
        if (type === "there") this.#workload = object;
        else this.#deleted = object.metadata.uid === target.owner?.object.metadata.uid;
        this.pods.changed();
      });
    }
    if (allowed.endpointSlices)
      for (const service of target.services)
        await this.#followIfAllowed<EndpointSlice>(
          "EndpointSlices",
          pathOf({ group: "discovery.k8s.io", resource: "endpointslices" }, namespace),
          { labelSelector: `kubernetes.io/service-name=${service}` },
          (change) => this.endpoints.take(change),
        );
    if (allowed.events)
      await this.#followIfAllowed<Event>(
        "events",
        pathOf({ group: "", resource: "events" }, namespace),
        { fieldSelector: "involvedObject.kind=Pod" },
        (change) => this.pods.takeEvent(change),
      );
    if (allowed.nodes)
      await this.#followIfAllowed<Node>("nodes", "/api/v1/nodes", {}, (change) => this.#takeNode(change));
    this.#asking = this.#askForTheTime();
  }

  async #follow<T extends KubernetesObject>(
    path: string,
    query: Readonly<Record<string, string>>,
    onChange: (change: Change<T>) => void,
    onFailure = this.#options.onFailure,
  ): Promise<void> {
    const { client } = this.#options;
    this.#stop.signal.throwIfAborted();
    const follower = new Follower<T>(client, { path, query, onChange, onFailure });
    this.#followers.push(follower);
    await follower.start();
  }

  /** A collection that only explains does not end the run: a right may be taken away in the middle of a rollout. */
  async #followIfAllowed<T extends KubernetesObject>(
    what: string,
    path: string,
    query: Readonly<Record<string, string>>,
    onChange: (change: Change<T>) => void,
  ): Promise<void> {
    const lose = (error: unknown): void => {
      const line = `${what} could not be followed any longer: ${messageOf(error)}`;
      this.#lost.push(line);
      this.#options.say(line);
    };
    try {
      await this.#follow(path, query, onChange, lose);
    } catch (error) {
      if (!hasStatus(error, 401, 403, 404)) throw error;
      lose(error);
    }
  }

  #takePod(change: Change<Pod>): void {
    const { metadata, spec } = change.object;
    if (change.type === "gone" && metadata.deletionTimestamp === undefined) {
      void this.#takeUnannounced(change);
      return;
    }
    this.pods.takePod(change);
    if (!this.#options.allowed.logs || metadata.deletionTimestamp === undefined || change.type === "gone")
      return;
    if (this.#logs.has(metadata.uid)) return;
    const { namespace } = this.#options.target.reference;
    const logs = spec.containers.map(({ name: container }) =>
      followPhases(
        this.#options.client,
        { namespace, name: metadata.name, container },
        (phase) => this.pods.takePhase(metadata.uid, { ...phase, at: this.clock.toLocal(phase.at) }),
        this.#stop.signal,
      ),
    );
    this.#logs.set(metadata.uid, Promise.all(logs));
  }

  /** The pod is gone without a deletion. Either it was deleted by force, or it no longer has the labels that are followed. */
  async #takeUnannounced(change: Change<Pod>): Promise<void> {
    const { client, target } = this.#options;
    const { name, uid } = change.object.metadata;
    const path = `${pathOf(resources.pod, target.reference.namespace)}?fieldSelector=metadata.name%3D${name}`;
    try {
      const found = await client.list<Pod>(path, this.#stop.signal);
      const there = found.find(({ metadata }) => metadata.uid === uid);
      if (!there) this.pods.takePod(change);
      else if (!isHeld(change.object)) this.#giveUp(there);
    } catch {
      this.pods.takePod(change);
    }
  }

  /** A pod whose deletion is held is still the target's. */
  #giveUp(pod: Pod): void {
    if (isHeld(pod)) this.#noteHeld(pod);
    else this.#leave(pod);
  }

  #noteHeld({ metadata: { name, uid } }: Pod): void {
    if (this.#held.has(uid)) return;
    this.#held.add(uid);
    this.#options.say(
      `pod ${name} is withdrawn, and its deletion held (${heldMark}): it is followed to its end`,
    );
  }

  /** A pod that gets its labels back is no longer listed here, and is followed by them again. */
  #takeHeld(change: Change<Pod>): void {
    const { type, object } = change;
    if (!this.pods.knows(object.metadata.uid)) return;
    this.#noteHeld(object);
    if (type === "there" || object.metadata.deletionTimestamp !== undefined) this.#takePod(change);
    else void this.#takeUnannounced(change);
  }

  #leave({ metadata: { name, uid } }: Pod): void {
    this.pods.leave(uid);
    this.#options.say(
      `pod ${name} no longer belongs to ${nameOf(this.#options.target.reference)}: it is left out`,
    );
  }

  /** A node that goes or fails under a rollout explains more than any pod does. */
  #takeNode({ type, object }: Change<Node>): void {
    const { name } = object.metadata;
    const state =
      type === "gone"
        ? "gone"
        : `${isReady(object) ? "Ready" : "not Ready"}${object.spec?.unschedulable ? ", cordoned" : ""}`;
    const before = this.#nodes.get(name);
    this.#nodes.set(name, state);
    if (before === undefined || before === state) return;
    const here = this.pods.objects.some(({ spec }) => spec.nodeName === name);
    if (here) this.#options.say(`node ${name} became ${state} (was ${before})`);
  }

  async #askForTheTime(): Promise<void> {
    const { signal } = this.#stop;
    for (let asked = 0; asked < questions && !signal.aborted; asked++)
      try {
        await delay(this.clock.nextQuestion, undefined, { signal });
        await this.#options.client.get("/version", signal);
      } catch {
        // Whatever the answer was, its date was noted; without an answer there is nothing to learn.
      }
  }
}
