import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubernetesClient } from "@lameduck/kube";
import { bringUp } from "./bring-up.ts";
import { clientOf, isReady } from "./client.ts";
import {
  isListening,
  kill,
  pause,
  resume,
  start,
  stateOf,
  type ComponentState,
  type RunningComponent,
} from "./component.ts";
import { ClusterError } from "./errors.ts";
import { stateDirectory } from "./host/paths.ts";
import { isAlive, memoryOf } from "./host/processes.ts";
import { run } from "./host/run.ts";
import { connectEdge } from "./host/network.ts";
import { closeSandbox, enterArguments, inside, isOpen, openSandbox, type Sandbox } from "./host/sandbox.ts";
import { importImage, waitForContainerd } from "./images/store.ts";
import { until } from "./host/until.ts";
import { kubeletConfigurationFile } from "./node.ts";
import { settle, type ClusterOptions, type Settings } from "./options.ts";
import { readState, writeState, type ClusterState } from "./state.ts";
import { failedLogs, tearDown } from "./teardown.ts";

const sayOnStderr = (line: string): void => void process.stderr.write(`${line}\n`);

/** A running Kubernetes of several nodes in namespaces of this machine. */
export class Cluster {
  readonly directory: string;
  readonly api: KubernetesClient;
  #state: ClusterState;
  #edge: Sandbox | undefined;

  private constructor(directory: string, state: ClusterState) {
    this.directory = directory;
    this.#state = state;
    this.api = clientOf(state.kubeconfig);
  }

  /** Brings a cluster up, after removing what a crashed run left. Ends with `down()`, or at the end of an `await using` block. */
  static async up(options: ClusterOptions = {}): Promise<Cluster> {
    const settings = settle(options);
    const directory = stateDirectory();
    await refuseIfInUse(directory);
    await tearDown(directory);
    const signal = options.signal ?? new AbortController().signal;
    const { say = sayOnStderr, detached = false } = options;
    try {
      const state = await bringUp({ directory, settings, detached, say, signal });
      return new Cluster(directory, state);
    } catch (error) {
      // Whoever ends a start on purpose has nothing to look up.
      await tearDown(directory, { keepLogs: !signal.aborted });
      if (!signal.aborted) say(`the logs of this attempt are in ${failedLogs(directory)}`);
      throw error;
    }
  }

  /** The cluster that `npm run cluster:up` started. */
  static async attach(): Promise<Cluster> {
    const directory = stateDirectory();
    const state = await readState(directory);
    if (state === undefined || !(await isWhole(state)))
      throw new ClusterError("LAMEDUCK_CLUSTER_NOT_UP", directory, "no cluster runs here");
    return new Cluster(directory, state);
  }

  get settings(): Settings {
    return this.#state.settings;
  }

  /** Works from the host's own namespace, through the gateway. */
  get kubeconfig(): string {
    return this.#state.kubeconfig;
  }

  /** The API server as the host reaches it. */
  get serverOutside(): string {
    return this.api.connection.server.origin;
  }

  get componentNames(): readonly string[] {
    return this.#state.components.map(({ plan }) => plan.name);
  }

  get nodeNames(): readonly string[] {
    return this.#state.sandboxes.map(({ name }) => name).filter((name) => name !== "fabric");
  }

  /** Runs kubectl and returns what it printed; a failure is an error. */
  kubectl(args: readonly string[], input?: string): Promise<string> {
    return run(this.program("kubectl"), ["--kubeconfig", this.kubeconfig, ...args], { input });
  }

  /** The JSONPath of what `kubectl get` finds. */
  async field(of: readonly string[], path: string): Promise<string> {
    return (await this.kubectl(["get", ...of, "-o", `jsonpath=${path}`])).trim();
  }

  /** Runs a command in the namespaces of a node, or of the fabric between them. */
  inside(machine: string, command: readonly string[], input?: string): Promise<string> {
    return inside(this.machine(machine), command, input);
  }

  /** The same as a program and its arguments, for who wants to start it otherwise. It ends when the program returned here is killed. */
  commandInside(machine: string, command: readonly string[]): { program: string; args: string[] } {
    // nsenter only waits for what it has started: killed, it would leave that behind.
    const dying = ["setpriv", "--pdeathsig", "KILL", "--", ...command];
    return { program: "nsenter", args: [...enterArguments(this.machine(machine)), "--", ...dying] };
  }

  /** Path of one of the programs that come with the cluster. */
  program(name: "kubectl" | "ctr"): string {
    const { kubernetes, runtime } = this.#state.programs;
    return join(name === "kubectl" ? kubernetes : runtime, name);
  }

  machine(name: string): Sandbox {
    const all = this.#edge === undefined ? this.#state.sandboxes : [...this.#state.sandboxes, this.#edge];
    const found = all.find((sandbox) => sandbox.name === name);
    if (found !== undefined) return found;
    throw new ClusterError("LAMEDUCK_CLUSTER_UNKNOWN_COMPONENT", name, "no such node");
  }

  /** Opens the machine "edge" beside the nodes, where clients from outside are, until it is disposed of. */
  async openEdge(): Promise<AsyncDisposable> {
    const edge = await openSandbox("edge", this.#state.programs.pause, this.directory);
    this.#edge = edge;
    await connectEdge(
      this.machine("fabric"),
      edge,
      this.nodeNames.map((name) => this.machine(name)),
    );
    return {
      [Symbol.asyncDispose]: async () => {
        this.#edge = undefined;
        await closeSandbox(edge);
      },
    };
  }

  /** Puts an image onto every node. @param write writes it as an OCI archive */
  async loadImage(write: (file: string) => Promise<unknown>): Promise<void> {
    const directory = await mkdtemp(join(tmpdir(), "lameduck-image-"));
    try {
      const archive = join(directory, "image.tar");
      await write(archive);
      for (const sandbox of this.#state.sandboxes)
        if (sandbox.name !== "fabric") await importImage(sandbox, this.#state.programs, archive);
    } finally {
      await rm(directory, { recursive: true });
    }
  }

  async stateOf(name: string): Promise<ComponentState> {
    return stateOf(this.#component(name));
  }

  logOf(name: string): string {
    return this.#component(name).plan.log;
  }

  /** SIGSTOP: it keeps its connections and answers nobody. */
  async pause(name: string): Promise<void> {
    return pause(this.#component(name));
  }

  async resume(name: string): Promise<void> {
    return resume(this.#component(name));
  }

  async kill(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    return kill(this.#component(name), signal);
  }

  /** Starts it anew with the same arguments, ending it first if it still runs; returns when it listens again. */
  async restart(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const old = this.#component(name);
    if ((await stateOf(old)) !== "ended") await kill(old, signal);
    const anew = await start(old.plan, this.machine(old.plan.sandbox), old.starts + 1);
    const components = this.#state.components.map((one) => (one === old ? anew : one));
    this.#state = { ...this.#state, components };
    await writeState(this.directory, this.#state);
    await until(() => isListening(anew), { what: `${name} listening`, logs: anew.plan.log });
    if (name === "apiserver") await this.apiReady();
    if (name.startsWith("containerd-"))
      await waitForContainerd(this.machine(anew.plan.sandbox), this.#state.programs, anew.plan.log);
  }

  /** Restarts a kubelet with other settings; returns what puts the former ones back. */
  async reconfigureKubelet(number: number, changes: object): Promise<() => Promise<void>> {
    const file = kubeletConfigurationFile(this.directory, number);
    const before = await readFile(file, "utf8");
    const apply = async (text: string): Promise<void> => {
      await writeFile(file, text);
      await this.restart(`kubelet-${number}`);
    };
    await apply(JSON.stringify({ ...(JSON.parse(before) as object), ...changes }));
    return () => apply(before);
  }

  /** Waits until the API server says that it serves. */
  async apiReady(): Promise<void> {
    await until(() => isReady(this.api), { what: "API server ready" });
  }

  /** Bytes of memory per component, shared pages divided among those who share them. */
  async memory(): Promise<ReadonlyMap<string, number>> {
    const amounts = await Promise.all(
      this.#state.components.map(
        async ({ plan, process }) => [plan.name, await memoryOf(process.pid)] as const,
      ),
    );
    return new Map(amounts);
  }

  async down(): Promise<void> {
    this.api.close();
    await tearDown(this.directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
  }

  #component(name: string): RunningComponent {
    const found = this.#state.components.find(({ plan }) => plan.name === name);
    if (found !== undefined) return found;
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_UNKNOWN_COMPONENT",
      name,
      `not one of ${this.componentNames.join(", ")}`,
    );
  }
}

async function isWhole(state: ClusterState): Promise<boolean> {
  const open = await Promise.all(state.sandboxes.map(isOpen));
  return state.complete && open.every(Boolean);
}

/** A crashed run's remains are removed without asking; a cluster somebody uses is not. */
export async function refuseIfInUse(directory: string): Promise<void> {
  const state = await readState(directory);
  if (state === undefined || !(await isWhole(state))) return;
  if (state.owner !== undefined && !(await isAlive(state.owner))) return;
  throw new ClusterError(
    "LAMEDUCK_CLUSTER_BUSY",
    directory,
    state.owner === undefined ? "a cluster runs here" : `process ${state.owner.pid} uses a cluster here`,
  );
}
