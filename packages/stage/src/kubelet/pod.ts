import { phaseIn } from "@lameduck/accounting/recording";
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { dirname, join, relative } from "node:path";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { removeAll } from "@lameduck/images";
import type { ContainerTemplate, PodTemplate } from "@lameduck/manifests";
import type { Endpoint, PodEvent } from "@lameduck/accounting";
import type { StageClock } from "../clock.ts";
import type { Bind, Listening, Network, PodNetwork } from "../network/network.ts";
import { Container, type LastWords } from "./container.ts";
import { type PodIdentity, launchIn } from "./environment.ts";
import { lastLook } from "./last-look.ts";
import { ListenerWatch } from "./listeners.ts";
import type { ContainerEvent, ContainerSurroundings } from "./surroundings.ts";
import { type Terminable, terminateContainers } from "./termination.ts";

interface PodOptions {
  /** Unique in the run. */
  readonly name: string;
  /** The host name that the pod sees. */
  readonly hostname: string;
  readonly revision: number;
  readonly template: PodTemplate;
  readonly clock: StageClock;
  /** A wall-clock time on the run's clock. */
  readonly fromEpoch: (milliseconds: number) => number;
  readonly network: Network;
  readonly imageEnvironment: Readonly<Record<string, string>>;
  /** Where containers without a workingDir start. */
  readonly directory: string;
  /** Under which emptyDir volumes are made. */
  readonly volumes: string;
  readonly emit: (event: PodEvent) => void;
  /** Readiness, deletion, a crash or the end: the controllers look again. */
  readonly changed: () => void;
}

/** One pod and its part of the kubelet. */
export class Pod {
  readonly name: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly #options: PodOptions;
  readonly #ending = new AbortController();
  readonly #over = new AbortController();
  readonly #volumes: ReturnType<typeof podVolumes>;
  #containers: readonly Container[] = [];
  #network: PodNetwork | undefined;
  #listeners: ListenerWatch | undefined;
  #readySince: number | undefined;
  #crashes = 0;
  #failure: Error | undefined;
  #terminated: Promise<void> | undefined;
  #attached: Promise<void> = Promise.resolve();
  #left: Promise<void> | undefined;
  #gone = false;
  readonly #changes = new EventEmitter();

  constructor(options: PodOptions) {
    this.#options = options;
    this.name = options.name;
    this.revision = options.revision;
    this.createdAt = options.clock.now();
    this.#volumes = podVolumes(join(options.volumes, options.name), options.template);
  }

  /** Since when all its containers are ready; undefined while one is not. */
  get readySince(): number | undefined {
    return this.#readySince;
  }

  get terminating(): boolean {
    return this.#terminated !== undefined;
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Unexpected ends of a container. */
  get crashes(): number {
    return this.#crashes;
  }

  get restarts(): number {
    return this.#containers.reduce((sum, container) => sum + container.restarts, 0);
  }

  /** Why it could not be started at all. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Whether the port that senders use has a listener. */
  get listening(): Listening {
    return this.#network?.listening(this.#options.template.port) ?? "unknown";
  }

  /** Ports it listens on instead of the one that senders go to. */
  get otherPorts(): readonly number[] {
    const network = this.#network;
    if (!network || this.listening !== "closed") return [];
    const ports = network.listeningPorts();
    // Two looks, and it may have begun to listen between them.
    return ports.includes(network.localPort(this.#options.template.port)) ? [] : ports;
  }

  /** Where it listens on loopback alone, be it another port than the one that senders go to. */
  get loopbackOnly(): { readonly port: number; readonly addresses: readonly string[] } | undefined {
    const network = this.#network;
    if (!network) return undefined;
    const { port } = this.#options.template;
    const open = this.listening === "open" ? [port] : network.listeningPorts();
    return open
      .map((one) => ({ port: one, addresses: network.loopbackOnly(one) }))
      .find(({ addresses }) => addresses.length > 0);
  }

  get endpoint(): Endpoint | undefined {
    const network = this.#network;
    if (!network) return undefined;
    return { pod: this.name, address: network.address, port: network.localPort(this.#options.template.port) };
  }

  /** The last lines of the container that ended last, with its name. */
  lastWords(): LastWords | undefined {
    return this.#containers
      .flatMap((container) => container.lastWords ?? [])
      .toSorted((a, b) => a.at - b.at)
      .at(-1);
  }

  /** Why its containers were killed before they were ready, where a postStart hook is the reason. */
  get failedPostStart(): string | undefined {
    return this.#containers.flatMap(({ failedPostStart }) => failedPostStart ?? []).at(-1);
  }

  /** The last lines of its containers. */
  get output(): readonly string[] {
    return this.#containers.flatMap((container) => container.output);
  }

  start(): void {
    this.#emit({ type: "created" });
    this.#attached = this.#attach().catch(this.#fail);
    void this.#attached.then(() => this.#startContainers());
  }

  readonly #fail = (error: unknown): void => {
    if (this.#ending.signal.aborted) return;
    this.#failure = error instanceof Error ? error : new Error(String(error));
    this.#options.changed();
  };

  /** Ends it by the rules. A second call changes nothing: a later, shorter grace does not interrupt what is running. */
  terminate(graceSeconds: number, why: string): Promise<void> {
    this.#terminated ??= this.#terminate(Math.max(1, graceSeconds), graceSeconds, why);
    return this.#terminated;
  }

  /** Kills it at once, without hooks and grace period. */
  async destroy(): Promise<void> {
    this.#ending.abort();
    this.#over.abort();
    this.#listeners?.stop();
    await this.#attached;
    await Promise.all(this.#containers.map((container) => container.destroy()));
    await this.#terminated;
    await this.#leave();
  }

  async #attach(): Promise<void> {
    const { template, clock, network, name } = this.#options;
    const containers = [...template.containers, ...template.initContainers];
    const declared = containers.flatMap(({ ports }) => ports.map(({ port }) => port));
    const own = await network.attachPod(name, { ports: [...new Set([template.port, ...declared])] });
    this.#network = own;
    if (this.#ending.signal.aborted) return;
    this.#volumes.make();
    this.#listeners = new ListenerWatch(
      clock,
      () => own.listening(template.port),
      (open, at) =>
        this.#emit({ type: open ? "listener-opened" : "listener-closed", port: template.port }, at),
    );
    const surroundings = this.#surroundings(own);
    this.#containers = [
      ...template.initContainers.map(
        (init) => new Container(init, init.sidecar ? "sidecar" : "init", surroundings),
      ),
      ...template.containers.map((main) => new Container(main, "main", surroundings)),
    ];
    for (const container of this.#containers) container.startProbing();
  }

  async #startContainers(): Promise<void> {
    for (const container of this.#containers) {
      const life = container.live().catch(this.#fail);
      if (container.role === "init") await life;
      else if (container.role === "sidecar") await this.#until(() => container.started);
      // A postStart hook holds up the containers after it.
      else if (container.template.postStart)
        await this.#until(() => container.started || container.restarts > 0);
    }
  }

  async #terminate(graceSeconds: number, written: number, why: string): Promise<void> {
    const { clock } = this.#options;
    this.#ending.abort();
    this.#emit({ type: "deleted", grace: written * 1_000, why });
    this.#options.changed();
    this.#changes.emit("change");
    await this.#attached;
    this.#listeners?.untilEnd();
    for (const container of this.#containers) container.stopLivenessAndStartup();
    await Promise.all(this.#containers.map(({ restarting }) => restarting));
    await terminateContainers(
      this.#terminables(({ role }) => role !== "sidecar"),
      this.#terminables(({ role }) => role === "sidecar"),
      graceSeconds,
      clock,
      (event) => this.#emit(event),
    );
    for (const container of this.#containers) container.stopProbing();
    this.#over.abort();
    await Promise.race([
      Promise.all(this.#containers.map((container) => container.closed())),
      clock.sleep(1_000),
    ]);
    await this.#leave();
  }

  /** The address dies and the pod is over. */
  #leave(): Promise<void> {
    this.#left ??= (async () => {
      this.#listeners?.stop();
      await this.#network?.detach();
      this.#volumes.remove();
      this.#gone = true;
      this.#emit({ type: "gone" });
      this.#options.changed();
    })();
    return this.#left;
  }

  #terminables(which: (container: Container) => boolean): Terminable[] {
    return this.#containers.filter(which).flatMap((container) => container.terminable() ?? []);
  }

  #surroundings(network: PodNetwork): ContainerSurroundings {
    const { template, clock, imageEnvironment, directory } = this.#options;
    const identity: PodIdentity = {
      hostname: this.#options.hostname,
      uid: randomUUID(),
      template,
      network,
      image: imageEnvironment,
      directory,
      temporary: this.#volumes.temporary,
    };
    return {
      clock,
      network,
      from: this.#options.network.nodeAddress,
      graceSeconds: template.graceSeconds,
      restartPolicy: template.restartPolicy,
      ending: this.#ending.signal,
      over: this.#over.signal,
      launch: (container) => launchIn(identity, container),
      binds: (container) => this.#volumes.binds(container),
      lastLook: (pid, signal) => {
        const senderAt = (address: string): string | undefined => this.#options.network.senderAt(address);
        return lastLook(pid, { network, port: template.port, signal, senderAt });
      },
      emit: (event, at) => this.#containerEvent(event, at),
      onLine: (line) => this.#line(line),
      changed: () => this.#changed(),
    };
  }

  #containerEvent(event: ContainerEvent, at?: number): void {
    if (event.type === "crashed") this.#crashes++;
    // The kernel has closed its sockets: let the listener's end stand before the exit.
    if (event.type === "exited") this.#listeners?.lookNow(at ?? this.#options.clock.now());
    if (event.type === "started") this.#listeners?.untilOpen();
    this.#emit(event, at);
  }

  #changed(): void {
    this.#changes.emit("change");
    const kept = this.#containers.filter(({ role }) => role !== "init");
    const ready = kept.length > 0 && kept.every((container) => container.ready);
    // During a termination a failed probe makes the pod unready; the exit of a container does not.
    const ended = this.terminating && kept.some(({ running }) => !running);
    if (!ended && ready !== (this.#readySince !== undefined)) {
      this.#readySince = ready ? this.#options.clock.now() : undefined;
      this.#emit({ type: ready ? "ready" : "unready" });
    }
    this.#options.changed();
  }

  #line(line: string): void {
    const said = phaseIn(line, Date.now());
    if (!said) return;
    const { at, ...phase } = said;
    this.#emit({ type: "phase", ...phase }, this.#options.fromEpoch(at));
  }

  /** Waits until something is so, or the pod ends. */
  async #until(condition: () => boolean): Promise<void> {
    while (!condition() && !this.#ending.signal.aborted) await once(this.#changes, "change");
  }

  #emit(event: ContainerEvent, at = this.#options.clock.now()): void {
    this.#options.emit({ ...event, at, pod: this.name });
  }
}

/** Beside the volumes, under a name that no volume can have. */
const temporaryFiles = ".tmp";

const depthOf = (path: string): number => path.split("/").length;

/** The directories of a pod's volumes, and one for its temporary files. */
function podVolumes(directory: string, { emptyDirs, filled = [], initContainers, containers }: PodTemplate) {
  const temporary = join(directory, temporaryFiles);
  return {
    temporary,
    make: (): void => {
      for (const path of [...emptyDirs.map((name) => join(directory, name)), temporary]) {
        mkdirSync(path, { recursive: true });
        // As an emptyDir: containers may run as any user.
        chmodSync(path, 0o777);
      }
      for (const { name, files } of filled) {
        mkdirSync(join(directory, name));
        for (const { path, bytes, mode } of files) {
          const file = join(directory, name, path);
          mkdirSync(dirname(file), { recursive: true });
          writeFileSync(file, bytes);
          chmodSync(file, mode);
        }
      }
      // What is mounted inside an emptyDir needs a place there. It is made before a program could put a link on the way.
      for (const { mounts } of [...initContainers, ...containers])
        for (const outer of mounts.filter(({ volume }) => emptyDirs.includes(volume)))
          for (const { path, isFile = false } of mounts.filter((inner) =>
            inner.path.startsWith(`${outer.path}/`),
          )) {
            const place = join(directory, outer.volume, relative(outer.path, path));
            mkdirSync(isFile ? dirname(place) : place, { recursive: true });
            if (isFile) writeFileSync(place, "");
          }
    },
    remove: (): void => removeAll(directory),
    binds: ({ mounts, root }: ContainerTemplate): Bind[] => [
      // Also under its own path: a container with a root of its own does not see the machine's directories. An image has its own /tmp.
      ...(root
        ? (root.files ?? []).map((file) => ({ ...file, isFile: true, isReadOnly: true }))
        : [{ from: directory, to: directory }]),
      // As container runtimes order them: no mount hides a mount that lies in it.
      ...mounts
        .toSorted((a, b) => depthOf(a.path) - depthOf(b.path))
        .map(({ volume, path, subPath = "", isFile = false }) => ({
          from: join(directory, volume, subPath),
          to: path,
          isFile,
          isReadOnly: filled.some(({ name }) => name === volume),
        })),
    ],
  };
}
