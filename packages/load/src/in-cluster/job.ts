import { randomBytes } from "node:crypto";
import {
  type KubernetesObject,
  type Pod,
  hasStatus,
  isTransient,
  retry,
  transientOrStarting,
  type Rule,
} from "@lameduck/kube";
import { jobManifest, programManifest, runLabel, type JobOptions } from "./manifests.ts";
import type { Kube } from "./options.ts";
import { type PodPlan, isSecret } from "./plan.ts";
import type { Route } from "../routes/route.ts";

/** An API server that restarts is back sooner. */
const timeoutMs = 60_000;

/** The objects of the load in the cluster: made together, removed together. */
export class LoadJob {
  readonly name = `lameduck-load-${randomBytes(4).toString("hex")}`;
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #secret: boolean;
  #mayExist = false;

  /** @param secret the program and its plan are a Secret, not a ConfigMap */
  constructor(kube: Kube, namespace: string, secret: boolean) {
    this.#kube = kube;
    this.#namespace = namespace;
    this.#secret = secret;
  }

  podPath(name: string): string {
    return `/api/v1/namespaces/${this.#namespace}/pods/${name}`;
  }

  /** First the Job, so that the ConfigMap or Secret can belong to it from the start; its pods wait for their files. */
  async create(options: Omit<JobOptions, "name" | "secret">, program: string, plan: PodPlan): Promise<void> {
    this.#mayExist = true;
    const { metadata } = await this.#post(
      this.#jobs,
      jobManifest({ ...options, name: this.name, secret: this.#secret }),
    );
    await this.#post(this.#files, programManifest(this.name, metadata.uid, program, plan));
  }

  async pods(signal?: AbortSignal): Promise<readonly Pod[]> {
    const selector = encodeURIComponent(`${runLabel}=${this.name}`);
    const path = `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=${selector}`;
    const list = () => this.#kube.get<{ items: Pod[] }>(path, signal);
    return (await retry(list, { timeoutMs, retryable: isTransient, signal })).items;
  }

  /**
   * SIGTERM without a deletion: the pod stays when its container has ended, and its log can be read until it is removed. A second deletion
   * with a shorter grace period would not cut the first one's (docs/evidence/kubelet.md), a deadline that has passed leaves nothing to cut.
   */
  async expirePod(name: string): Promise<void> {
    await this.#gone(() =>
      this.#kube.patch(this.podPath(name), { spec: { activeDeadlineSeconds: 1 } }, "merge-patch"),
    );
  }

  /** Everything, whatever state it is in. All of it is tried. @throws the first failure */
  async remove(): Promise<void> {
    if (!this.#mayExist) return;
    const pods = await this.pods().catch(() => []);
    const removals = await Promise.allSettled([
      this.#gone(() => this.#kube.delete(`${this.#jobs}/${this.name}`, { propagationPolicy: "Background" })),
      // The collector would remove it, too, later.
      this.#gone(() => this.#kube.delete(`${this.#files}/${this.name}`)),
      ...pods.map(({ metadata }) =>
        this.#gone(() => this.#kube.delete(this.podPath(metadata.name), { gracePeriodSeconds: 1 })),
      ),
    ]);
    const failure = removals.find((removal) => removal.status === "rejected");
    if (failure) throw failure.reason;
    this.#mayExist = false;
  }

  get #jobs(): string {
    return `/apis/batch/v1/namespaces/${this.#namespace}/jobs`;
  }

  get #files(): string {
    return `/api/v1/namespaces/${this.#namespace}/${this.#secret ? "secrets" : "configmaps"}`;
  }

  async #post(path: string, object: object): Promise<KubernetesObject> {
    const { name } = this;
    let attempts = 0;
    return retry(
      async () => {
        try {
          return await this.#kube.post<KubernetesObject>(path, object);
        } catch (error) {
          // Made by an attempt whose answer was lost.
          if (attempts++ > 0 && hasStatus(error, 409))
            return this.#kube.get<KubernetesObject>(`${path}/${name}`);
          throw error;
        }
      },
      { timeoutMs, retryable: isTransient },
    );
  }

  /** Does something to an object that may have gone. */
  async #gone(attempt: () => Promise<unknown>): Promise<void> {
    await retry(
      async () => {
        try {
          await attempt();
        } catch (error) {
          if (!hasStatus(error, 404)) throw error;
        }
      },
      {
        timeoutMs,
        retryable: (error, refused) => isTransient(error) || transientOrStarting(error, refused),
      },
    );
  }
}

/**
 * What the load in the cluster needs, in its namespace; for the preflight and the Role it prints. Objects are read where the answer to their
 * creation was lost.
 */
export const inClusterRules = (routes: readonly Route[]): readonly Rule[] => [
  { group: "batch", resource: "jobs", verbs: ["create", "get", "delete"] },
  { group: "", resource: isSecret(routes) ? "secrets" : "configmaps", verbs: ["create", "get", "delete"] },
  { group: "", resource: "pods", verbs: ["list", "patch", "delete"] },
  { group: "", resource: "pods/log", verbs: ["get"] },
  {
    group: "",
    resource: "events",
    verbs: ["list"],
    without: "why the load's pods do not start, where a quota or an admission policy forbids them",
  },
];
