import { heldMark } from "@lameduck/protocol";
import { FakeApi, type Item } from "../../kube/test/fake-api.ts";

export type { Asked, Fault } from "../../kube/test/fake-api.ts";

export const namespace = "shop";

/** Of a JSON patch. */
interface Step {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

interface Options {
  readonly replicas?: number;
  readonly labels?: Record<string, string>;
  readonly group?: string;
  readonly resource?: string;
  readonly kind?: string;
}

/**
 * A namespace with the controllers that `rollout` depends on, reduced to what it sees of them: a Deployment (or an Argo Rollout) with its
 * ReplicaSets, and a DaemonSet or StatefulSet. Pods are ready at once; how long one takes to end is `termination`.
 */
export class FakeCluster extends FakeApi {
  /** Milliseconds from a pod's deletion to its end. */
  termination = 50;
  /** A readiness gate of the pods that are made from now on, which nobody sets. */
  gate: string | undefined;
  /** How a deletion is held before it is written: the labels that the pod loses, its owner with them, and for how many milliseconds. */
  held: { readonly without: readonly string[]; readonly for: number } | undefined;
  /** Evictions that are refused by a PodDisruptionBudget, as long as this is so. */
  evictionsRefused = false;
  #serial = 0;
  #reconciling: NodeJS.Timeout | undefined;

  static override async start(): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    await cluster.listen();
    cluster.put("nodes", "n1", { spec: {}, status: { conditions: [{ type: "Ready", status: "True" }] } });
    return cluster;
  }

  override async stop(): Promise<void> {
    clearTimeout(this.#reconciling);
    await super.stop();
  }

  /** A Deployment, or an Argo Rollout, with its pods. */
  deployment(name: string, options: Options = {}): void {
    const { replicas = 2, labels = { app: name } } = options;
    const { group = "apps", resource = "deployments", kind = "Deployment" } = options;
    this.put(`${group}/${resource}`, name, {
      kind,
      metadata: { generation: 1 },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec },
      },
      status: {},
    });
    this.#settle();
  }

  /** A DaemonSet or StatefulSet with its pods. */
  direct(kind: "DaemonSet" | "StatefulSet", name: string, replicas = 2, labels = { app: name }): void {
    const resource = `apps/${kind.toLowerCase()}s`;
    const set = this.put(resource, name, {
      kind,
      metadata: { generation: 1 },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: podSpec },
      },
      status: {
        observedGeneration: 1,
        replicas,
        updatedReplicas: replicas,
        readyReplicas: replicas,
        availableReplicas: replicas,
        desiredNumberScheduled: replicas,
        updatedNumberScheduled: replicas,
        numberAvailable: replicas,
        currentRevision: "1",
        updateRevision: "1",
      },
    });
    for (let index = 0; index < replicas; index++) this.pod(`${name}-${index}`, labels, owner(kind, set));
  }

  /** A pod that is ready. */
  pod(name: string, labels: Record<string, string>, ...owners: readonly object[]): Item {
    return this.put("pods", name, {
      metadata: { labels, ownerReferences: owners, creationTimestamp: stamp() },
      spec: {
        ...podSpec,
        nodeName: "n1",
        ...(this.gate === undefined ? {} : { readinessGates: [{ conditionType: this.gate }] }),
      },
      status: {
        phase: "Running",
        podIP: "127.0.0.1",
        conditions: [
          { type: "ContainersReady", status: "True" },
          { type: "Ready", status: this.gate === undefined ? "True" : "False" },
        ],
        containerStatuses: [{ name: "app", state: { running: { startedAt: stamp() } } }],
      },
    });
  }

  #steps(resource: string, name: string, before: Item, steps: readonly Step[]) {
    const changes = steps.map(({ op, path, value }) => {
      const keys = path
        .slice(1)
        .split("/")
        .map((key) => key.replaceAll("~1", "/"));
      const found = keys.reduce<unknown>(
        (at, key) => (at as Record<string, unknown> | undefined)?.[key],
        before,
      );
      return { keys, fails: op === "test" && found !== value };
    });
    if (changes.some(({ fails }) => fails)) return status(422, "Invalid", "the test of a patch failed");
    for (const { keys } of changes)
      this.change(
        resource,
        name,
        keys.reduceRight<unknown>((value, key) => ({ [key]: value }), null) as Item,
      );
    return { status: 200, body: this.get(resource, name) };
  }

  /** As the API server does it: the pod is marked, ends after a while, and whoever made it makes another. */
  terminate(name: string): void {
    const pod = this.get("pods", name);
    if (!pod || pod.metadata["deletionTimestamp"] !== undefined) return;
    if (this.held && !(heldMark in (pod.metadata["labels"] as object))) {
      const { without } = this.held;
      const labels = Object.fromEntries(
        Object.entries(pod.metadata["labels"] as object).filter(([key]) => !without.includes(key)),
      ) as Record<string, string>;
      if (without.length > 0) this.relabel(name, { ...labels, [heldMark]: "withdrawn" });
      else this.change("pods", name, { metadata: { labels: { [heldMark]: "withdrawn" } } });
      setTimeout(() => this.terminate(name), this.held.for).unref();
      this.#settle();
      return;
    }
    const deletionTimestamp = new Date(this.now() + 30_000).toISOString();
    this.change("pods", name, {
      metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 },
      status: { conditions: [{ type: "Ready", status: "False" }] },
    });
    setTimeout(() => {
      this.remove("pods", name);
      const [direct] = (pod.metadata["ownerReferences"] as { kind: string }[] | undefined) ?? [];
      if (direct?.kind === "StatefulSet" || direct?.kind === "DaemonSet")
        this.pod(
          direct.kind === "StatefulSet" ? name : `${name}x`,
          pod.metadata["labels"] as Record<string, string>,
          direct,
        );
      this.#settle();
    }, this.termination).unref();
    this.#settle();
  }

  protected override act(method: string, resource: string, name: string, sub: string, body: Item) {
    if (resource === "pods" && (method === "DELETE" || sub === "eviction")) {
      const uid = (body["preconditions"] ??
        (body["deleteOptions"] as Item | undefined)?.["preconditions"]) as { uid?: string } | undefined;
      const pod = this.get("pods", name);
      if (!pod) return status(404, "NotFound", `pods "${name}" not found`);
      if (uid?.uid !== undefined && uid.uid !== pod.metadata.uid)
        return status(409, "Conflict", "another uid");
      if (sub === "eviction" && this.evictionsRefused)
        return status(
          429,
          "TooManyRequests",
          "Cannot evict pod as it would violate the pod's disruption budget.",
        );
      this.terminate(name);
      return { status: 200, body: { kind: "Status", status: "Success" } };
    }
    if (method === "PATCH") {
      const before = this.get(resource, name);
      if (!before) return status(404, "NotFound", `${resource} "${name}" not found`);
      if (Array.isArray(body)) return this.#steps(resource, name, before, body as Step[]);
      const generation = Number(before.metadata["generation"] ?? 0) + 1;
      const after = this.change(resource, name, { ...body, metadata: { ...body.metadata, generation } });
      this.#settle();
      return { status: 200, body: after };
    }
    return undefined;
  }

  #settle(): void {
    clearTimeout(this.#reconciling);
    let again = false;
    for (const resource of ["apps/deployments", "argoproj.io/rollouts"])
      for (const one of this.items(resource)) again = this.#reconcile(resource, one) || again;
    if (again) this.#reconciling = setTimeout(() => this.#settle(), 10).unref();
  }

  /** One step towards what is wanted, one pod more than wanted at most. @returns whether there was one to be made. */
  #reconcile(resource: string, workload: Item): boolean {
    const { name, uid, generation } = workload.metadata;
    const spec = workload["spec"] as {
      replicas: number;
      restartAt?: string;
      template: { metadata: { labels: Record<string, string>; annotations?: Record<string, string> } };
    };
    const { labels, annotations } = spec.template.metadata;
    const hash = `h${(JSON.stringify(annotations ?? {}) + (spec.restartAt ?? "")).length}`;
    const set = `${name}-${hash}`;
    if (!this.get("apps/replicasets", set))
      this.put("apps/replicasets", set, {
        metadata: { labels, ownerReferences: [owner(String(workload["kind"]), workload)] },
      });
    const sets = this.items("apps/replicasets").filter((one) => controller(one)?.uid === uid);
    const own = this.items("pods").filter(
      (pod) =>
        sets.some((one) => one.metadata.uid === controller(pod)?.uid) &&
        pod.metadata["deletionTimestamp"] === undefined,
    );
    const current = this.get("apps/replicasets", set)!;
    const fresh = own.filter((pod) => controller(pod)?.uid === current.metadata.uid);
    const old = own.filter((pod) => !fresh.includes(pod));
    const excess = old[0] ?? (fresh.length > spec.replicas ? fresh[0] : undefined);
    const missing = fresh.length < spec.replicas && own.length <= spec.replicas;
    if (missing)
      this.pod(
        `${set}-${++this.#serial}`,
        { ...labels, "pod-template-hash": hash },
        owner("ReplicaSet", current),
      );
    const count = own.length + (missing ? 1 : 0);
    const next = {
      observedGeneration: resource.startsWith("argo") ? String(generation) : generation,
      replicas: count,
      updatedReplicas: fresh.length + (missing ? 1 : 0),
      readyReplicas: count,
      availableReplicas: count,
      ...(spec.restartAt === undefined || old.length > 0 || missing
        ? {}
        : { restartedAt: inSeconds(spec.restartAt) }),
    };
    if (JSON.stringify({ ...(workload["status"] as object), ...next }) !== JSON.stringify(workload["status"]))
      this.change(resource, name, { status: next });
    if (!missing && excess) this.terminate(excess.metadata.name);
    return missing || excess !== undefined;
  }
}

const podSpec = {
  containers: [{ name: "app", ports: [{ containerPort: 8080 }], readinessProbe: { httpGet: {} } }],
  terminationGracePeriodSeconds: 30,
};

export function owner(kind: string, { metadata }: Item): object {
  return { kind, name: metadata.name, uid: metadata.uid, controller: true };
}

function controller(item: Item): { uid: string } | undefined {
  return (item.metadata["ownerReferences"] as { uid: string }[] | undefined)?.[0];
}

/** As Go writes a time of the API. */
function inSeconds(time: string): string {
  return time.replace(/\.\d+Z$/, "Z");
}

function stamp(): string {
  return inSeconds(new Date().toISOString());
}

export function status(code: number, reason: string, message: string) {
  return { status: code, body: { kind: "Status", status: "Failure", code, reason, message } };
}
