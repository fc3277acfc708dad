import { randomBytes } from "node:crypto";
import type { KubernetesObject, Pod } from "../client/objects.ts";
import { hasStatus, insist, type Kube } from "./kube.ts";
import { jobManifest, programManifest, runLabel, type JobOptions } from "./manifests.ts";
import type { PodPlan } from "./plan.ts";

/** An API server that restarts is back sooner. */
const patience = 60_000;

/** The objects of the load in the cluster: made together, removed together. */
export class LoadJob {
  readonly name = `lameduck-load-${randomBytes(4).toString("hex")}`;
  readonly #kube: Kube;
  readonly #namespace: string;
  #mayExist = false;

  constructor(kube: Kube, namespace: string) {
    this.#kube = kube;
    this.#namespace = namespace;
  }

  podPath(name: string): string {
    return `/api/v1/namespaces/${this.#namespace}/pods/${name}`;
  }

  /** First the Job, so that the ConfigMap can belong to it from the start; its pods wait for their files. */
  async create(options: Omit<JobOptions, "name">, program: string, plan: PodPlan): Promise<void> {
    this.#mayExist = true;
    const { metadata } = await this.#post(this.#jobs, jobManifest({ ...options, name: this.name }));
    await this.#post(this.#configMaps, programManifest(this.name, metadata.uid, program, plan));
  }

  async pods(signal?: AbortSignal): Promise<readonly Pod[]> {
    const selector = encodeURIComponent(`${runLabel}=${this.name}`);
    const path = `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=${selector}`;
    const list = () => this.#kube.get<{ items: Pod[] }>(path, signal);
    return (await insist(list, { patience })).items;
  }

  /** The Job first: it would replace the pods that are ended. */
  async endJob(): Promise<void> {
    if (!this.#mayExist) return;
    await this.#remove(`${this.#jobs}/${this.name}`, { propagationPolicy: "Background" });
  }

  /** SIGTERM to one pod, or, with a grace period, its end. */
  async endPod(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.#remove(this.podPath(name), gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });
  }

  /** The collector would remove it, too, later. */
  async removeProgram(): Promise<void> {
    if (!this.#mayExist) return;
    await this.#remove(`${this.#configMaps}/${this.name}`, {});
    this.#mayExist = false;
  }

  get #jobs(): string {
    return `/apis/batch/v1/namespaces/${this.#namespace}/jobs`;
  }

  get #configMaps(): string {
    return `/api/v1/namespaces/${this.#namespace}/configmaps`;
  }

  async #post(path: string, object: object): Promise<KubernetesObject> {
    const { name } = this;
    let attempts = 0;
    return insist(
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
      { patience },
    );
  }

  async #remove(path: string, options: object): Promise<void> {
    await insist(
      async () => {
        try {
          await this.#kube.delete(path, options);
        } catch (error) {
          if (!hasStatus(error, 404)) throw error;
        }
      },
      { patience, allowed: true },
    );
  }
}
