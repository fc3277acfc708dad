import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { PodTemplate, Workload } from "@lameduck/manifests";
import type { RunClock, EndpointListener, PodEvent } from "@lameduck/accounting";
import { adjustTemplate, type Adjustments } from "./adjust.ts";
import { stageClock, type StageClock } from "./clock.ts";
import { Controller } from "./deployment/controller.ts";
import { resolveBounds } from "./deployment/rounding.ts";
import { OtherPortError, StageError } from "./errors.ts";
import { imageEnvironment } from "./kubelet/environment.ts";
import { Pod } from "./kubelet/pod.ts";
import type { Network } from "./network/network.ts";
import { lastWords } from "@lameduck/load";
import { unreachable } from "./runtime/unreachable.ts";
import { PodNames } from "./pod-names.ts";
import { mustHaveCommands, mustHaveMountPoints, mustRunImages, mustStayHere } from "./preflight.ts";

export interface StageOptions extends Pick<Workload, "template" | "replicas" | "strategy"> {
  readonly clock: RunClock;
  /** Default 0. */
  readonly minReadySeconds?: number;
  /** How long a rollout may go on without progress; default 600 s, as in Kubernetes. */
  readonly progressDeadlineSeconds?: number;
  readonly listener: EndpointListener;
  readonly onEvent: (event: PodEvent) => void;
  /** Ends the stage without ceremony. */
  readonly signal?: AbortSignal;
  readonly network: Network;
  readonly adjustments?: Adjustments;
  /** Plays the image's part; default that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where containers without a workingDir start; default that of this process. */
  readonly directory?: string;
  /** Names of pods go on from here, so that they are unique over the stages of one run. Default: from 1. */
  readonly names?: PodNames;
}

/** A program that listens elsewhere may yet open the right port: some open that of their metrics first. */
const timeoutForPortMs = 5_000;
/** No event tells where a program listens: it is looked at so often at least. */
const longestGlanceMs = 500;
/** A program that listens on loopback may yet listen elsewhere. */
const timeoutForAddressMs = 2_000;

/** Pods of one workload on this machine. */
export class Stage {
  readonly #options: StageOptions;
  readonly #clock: StageClock;
  readonly #template: PodTemplate;
  readonly #controller: Controller;
  readonly #names: PodNames;
  readonly #image: Readonly<Record<string, string>>;
  readonly #volumes: string;
  readonly #all: Pod[] = [];
  readonly #reported = new Set<string>();
  #stopped: Promise<void> | undefined;

  constructor(options: StageOptions) {
    this.#options = options;
    this.#clock = stageClock(options.clock);
    this.#template = adjustTemplate(options.template, options.adjustments ?? {});
    this.#names = options.names ?? new PodNames();
    this.#volumes = mkdtempSync(join(options.network.scratch, "stage-"));
    this.#image = imageEnvironment(options.env ?? process.env);
    this.#controller = new Controller(options.replicas, {
      strategy: options.strategy,
      minReadySeconds: options.minReadySeconds ?? 0,
      clock: this.#clock,
      createPod: (revision, ordinal) => this.#createPod(revision, ordinal),
      removePod: (pod, why) => void pod.terminate(this.#template.graceSeconds, why),
    });
    options.signal?.addEventListener("abort", () => void this.stop(), { once: true });
    if (options.signal?.aborted) void this.stop();
    this.#controller.look();
  }

  get pods(): readonly Pod[] {
    return this.#controller.pods;
  }

  /** Why no request may be answered: a pod without a readiness probe counts as ready, and its program ends again and again. */
  get crash(): StageError | undefined {
    const pod = this.pods.find(({ terminating, crashes }) => !terminating && crashes >= 2);
    return pod && this.#crashed(pod);
  }

  /**
   * Waits until every pod is available.
   * @throws StageError LAMEDUCK_POD_CRASHED, LAMEDUCK_PORT_COLLISION, LAMEDUCK_POD_NEVER_READY
   */
  ready(): Promise<void> {
    return this.#progress("available");
  }

  /** `kubectl rollout restart`, and waits for its end. */
  rollout(): Promise<void> {
    this.#mustRun();
    this.#controller.restart();
    return this.#progress("gone");
  }

  scale(replicas: number): Promise<void> {
    this.#mustRun();
    this.#controller.scale(replicas);
    return this.#progress("gone");
  }

  /** `kubectl delete pod`; the controller replaces it. Resolves when it is gone. */
  deletePod(name: string, { graceSeconds = this.#template.graceSeconds } = {}): Promise<void> {
    this.#mustRun();
    const pod = this.pods.find((candidate) => candidate.name === name && !candidate.gone);
    if (!pod)
      throw new StageError(
        "LAMEDUCK_NO_SUCH_POD",
        name,
        `there is no such pod among ${this.pods.map((p) => p.name).join(", ")}`,
      );
    return pod.terminate(graceSeconds, "delete");
  }

  /** Takes every pod away at once; says nothing more to listeners. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#controller.stop();
    await Promise.all(this.pods.map((pod) => pod.destroy()));
    rmSync(this.#volumes, { recursive: true, force: true });
  }

  #createPod(revision: number, ordinal: number | undefined): Pod {
    const { clock, network, directory = process.cwd() } = this.#options;
    const names = this.#names.next(this.#template.name, ordinal);
    const pod = new Pod({
      ...names,
      revision,
      template: this.#template,
      clock: this.#clock,
      fromEpoch: (milliseconds) => clock.fromEpoch(milliseconds),
      network,
      imageEnvironment: this.#image,
      directory,
      volumes: this.#volumes,
      emit: (event) => this.#event(event),
      changed: () => this.#controller.look(),
    });
    this.#all.push(pod);
    return pod;
  }

  #event(event: PodEvent): void {
    if (this.#stopped) return;
    this.#options.onEvent(event);
    const { listener } = this.#options;
    const { pod, at } = event;
    if (event.type === "ready") {
      const endpoint = this.#all.find(({ name }) => name === pod)?.endpoint;
      if (endpoint && !this.#reported.has(pod)) listener.ready(endpoint, at);
    } else if (event.type === "unready") {
      if (!this.#reported.has(pod)) listener.unready(pod, at);
    } else if (event.type === "deleted") {
      this.#reported.add(pod);
      listener.terminating(pod, at);
    } else if (event.type === "gone") listener.gone(pod, at);
  }

  /** @param until `gone`: also the terminations of all old pods are over. */
  async #progress(until: "gone" | "available"): Promise<void> {
    const deadline = (this.#options.progressDeadlineSeconds ?? 600) * 1_000;
    let progress = this.#measure();
    let since = this.#clock.now();
    for (;;) {
      this.#mustRun();
      this.#mustNotFail();
      const ending = this.pods.some((pod) => pod.terminating && !pod.gone);
      if (this.#controller.settled && (until === "available" || !ending)) return;
      const left = since + deadline - this.#clock.now();
      if (left <= 0 && !ending) throw this.#neverReady();
      const over = new AbortController();
      const wait = Math.min(Math.max(left, 1_000), longestGlanceMs);
      await Promise.race([this.#controller.change(), this.#clock.sleep(wait, over.signal)]);
      over.abort();
      const now = this.#measure();
      if (now !== progress) [progress, since] = [now, this.#clock.now()];
    }
  }

  /** Progress, as the Deployment controller means it: pods made, ready or gone. Restarts are no progress. */
  #measure(): string {
    const ready = this.pods.filter(({ readySince }) => readySince !== undefined).map(({ name }) => name);
    return [this.#all.length, this.pods.length, ...ready].join(" ");
  }

  #mustRun(): void {
    if (this.#stopped) throw new StageError("LAMEDUCK_STAGE_STOPPED", "stage", "it has been stopped");
  }

  /** A pod that was never ready and ended twice will not come up by waiting for its back-off. */
  #mustNotFail(): void {
    for (const pod of this.pods) {
      if (pod.failure) throw pod.failure;
      if (pod.terminating) continue;
      const inside = this.#clock.now() > pod.createdAt + timeoutForAddressMs ? pod.loopbackOnly : undefined;
      // In a pod of several containers a port without senders may be meant so: another container may pass requests on to it.
      if (inside && (inside.port === this.#template.port || !this.#hasCompany))
        throw loopbackOnly(pod, inside);
      if (pod.readySince !== undefined) continue;
      if (pod.crashes >= 2) throw this.#crashed(pod);
      const ports = this.#clock.now() > pod.createdAt + timeoutForPortMs ? pod.otherPorts : [];
      if (ports.length > 0) throw new OtherPortError(pod.name, this.#template.port, ports);
    }
  }

  get #hasCompany(): boolean {
    const { containers, initContainers } = this.#template;
    return containers.length + initContainers.filter(({ sidecar }) => sidecar).length > 1;
  }

  #crashed(pod: Pod): StageError {
    const words = pod.lastWords();
    const lines = words?.lines ?? [];
    const place = `${pod.name}/${words?.container ?? "?"}`;
    const ending = `${words?.how ?? "?"}: ${lastWords(lines)}`;
    if (this.#options.network.kind === "shared loopback" && saysAddressInUse(lines))
      return new StageError("LAMEDUCK_PORT_COLLISION", place, `another pod has its port: ${ending}`);
    return new StageError("LAMEDUCK_POD_CRASHED", place, `it ends again and again, ${ending}`, {
      remedy: this.#ifUnreachable(lines),
    });
  }

  /** What to do about a program that could not connect somewhere, if that is what it says. */
  #ifUnreachable(lines: readonly string[]): string | undefined {
    const { kind, apiServer } = this.#options.network;
    const where = kind === "shared loopback" ? undefined : unreachable(lines);
    if (where === `${apiServer.host}:${apiServer.port}`)
      return "there is no API server here: --env KUBERNETES_SERVICE_HOST= makes the program believe that it is in no cluster";
    return where && `pods reach nothing outside of their network namespaces: --allow ${where} forwards there`;
  }

  #neverReady(): StageError {
    const late = this.pods.filter((pod) => !pod.terminating && pod.readySince === undefined);
    const seconds = this.#options.progressDeadlineSeconds ?? 600;
    const names = late.map(({ name }) => name).join(", ") || this.#template.name;
    return new StageError(
      "LAMEDUCK_POD_NEVER_READY",
      names,
      `not ready after ${seconds} s${this.#whyNotReady(late)}`,
      { remedy: this.#ifUnreachable(late.flatMap((pod) => pod.output)) },
    );
  }

  #whyNotReady(late: readonly Pod[]): string {
    const hook = late.flatMap(({ failedPostStart }) => failedPostStart ?? []).at(-1);
    if (hook !== undefined) return `; ${hook}`;
    return late.some((pod) => pod.listening === "closed")
      ? `; nothing listens on port ${this.#template.port}`
      : "; it listens, but its readiness probe fails";
  }
}

/**
 * Starts the pods of a workload. Nothing is started when the template cannot be run here.
 * @throws StageError LAMEDUCK_NO_SUCH_COMMAND, LAMEDUCK_BAD_STRATEGY, LAMEDUCK_MOUNT_MISSING, LAMEDUCK_HOST_OUTSIDE; ImageError
 */
export function startStage(options: StageOptions): Stage {
  const { template, strategy, replicas, network } = options;
  if (strategy.kind === "rolling") resolveBounds(strategy.maxSurge, strategy.maxUnavailable, replicas);
  mustRunImages(template, network);
  mustHaveCommands(adjustTemplate(template, options.adjustments ?? {}), options);
  mustHaveMountPoints(template, network);
  mustStayHere(template, network);
  return new Stage(options);
}

function loopbackOnly({ name }: Pod, { port, addresses }: NonNullable<Pod["loopbackOnly"]>): StageError {
  const where = addresses.map((address) => (address.includes(":") ? `[${address}]` : address)).join(" and ");
  return new StageError(
    "LAMEDUCK_LOOPBACK_ONLY",
    name,
    `the program listens on port ${port} of ${where} only, which nothing outside its pod reaches`,
  );
}

function saysAddressInUse(lines: readonly string[]): boolean {
  return lines.some((line) => /EADDRINUSE|address already in use/i.test(line));
}
