import { messageOf } from "@lameduck/drain/common";
import { lastWords } from "@lameduck/load";
import type { ContainerTemplate } from "@lameduck/manifests";
import { check, runHook, type HandlerTarget } from "./handlers.ts";
import { Prober } from "./prober.ts";
import type { ContainerRole, ContainerSurroundings } from "./surroundings.ts";
import { stopContainer, type Terminable } from "./termination.ts";
import { StageError } from "../errors.ts";
import { ContainerProcess, spellExit, type Exit } from "../runtime/process.ts";

interface Run {
  readonly process: ContainerProcess;
  readonly startedAt: number;
  /** postStart is done and the startup probe, if any, has succeeded. */
  started: boolean;
  ready: boolean;
}

/** One container of a pod: its runs, its probes, its restarts. */
export class Container {
  readonly template: ContainerTemplate;
  readonly role: ContainerRole;
  readonly #pod: ContainerSurroundings;
  readonly #backoff = new Backoff();
  readonly #probers: { readonly kind: "startup" | "liveness" | "readiness"; readonly prober: Prober<Run> }[] =
    [];
  #run: Run | undefined;
  #postStarted = false;
  #restarts = 0;
  #lastExit: Exit | undefined;
  #lastOutput: readonly string[] = [];
  #restarting: Promise<void> = Promise.resolve();
  #killedByUs = false;
  #failedPostStart: string | undefined;

  constructor(template: ContainerTemplate, role: ContainerRole, pod: ContainerSurroundings) {
    this.template = template;
    this.role = role;
    this.#pod = pod;
  }

  get running(): boolean {
    return this.#run?.process.running ?? false;
  }

  get started(): boolean {
    return this.running && (this.#run?.started ?? false);
  }

  get ready(): boolean {
    return this.started && (this.#run?.ready ?? false);
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** What the last run that has ended left behind; undefined where no run has ended. */
  get lastWords(): LastWords | undefined {
    const exit = this.#lastExit;
    if (!exit) return undefined;
    return { at: exit.at, container: this.template.name, lines: this.#lastOutput, how: spellExit(exit) };
  }

  /** Of its present run. */
  get output(): readonly string[] {
    return this.#run?.process.output.tail() ?? [];
  }

  /** What the last postStart hook that failed said. */
  get failedPostStart(): string | undefined {
    return this.#failedPostStart;
  }

  /** A kill by liveness or postStart that is under way; it holds up the pod's termination, as it does in the kubelet. */
  get restarting(): Promise<void> {
    return this.#restarting;
  }

  /** Its workers exist from the moment the pod does. */
  startProbing(): void {
    this.#addProber("startup");
    this.#addProber("liveness");
    this.#addProber("readiness");
    for (const { prober } of this.#probers) void prober.start();
  }

  /** On deletion liveness and startup stop; readiness goes on until the containers have stopped. */
  stopLivenessAndStartup(): void {
    for (const { kind, prober } of this.#probers) if (kind !== "readiness") prober.stop();
  }

  stopProbing(): void {
    for (const { prober } of this.#probers) prober.stop();
  }

  /** Runs it, and runs it again as its policy wants. Resolves when it will not run any more. */
  async live(): Promise<void> {
    for (;;) {
      if (this.#pod.ending.aborted) return;
      const exit = await this.#runOnce();
      if (this.#pod.ending.aborted || !this.#shallRestart(exit)) return;
      await this.#pod.clock.sleep(this.#backoff.next(this.#pod.clock.now()), this.#pod.ending);
      if (this.#pod.ending.aborted) return;
      this.#restarts++;
    }
  }

  /** As the rules of termination see it; undefined when it does not run. */
  terminable(): Terminable | undefined {
    const run = this.#run;
    return run?.process.running ? this.#terminableRun(run) : undefined;
  }

  /** Kills it at once: the stage is being taken down. */
  async destroy(): Promise<void> {
    this.stopProbing();
    const process = this.#run?.process;
    if (!process?.running) return;
    await process.kill();
    await process.exited;
  }

  async closed(): Promise<void> {
    await this.#run?.process.closed;
  }

  async #runOnce(): Promise<Exit> {
    const { clock, emit } = this.#pod;
    const process = this.#startProcess();
    const run: Run = { process, startedAt: clock.now(), started: false, ready: false };
    this.#run = run;
    this.#killedByUs = false;
    this.#postStarted = false;
    const pid = await process.pid;
    emit(
      { type: "started", container: this.template.name, ...(pid === undefined ? {} : { pid }) },
      run.startedAt,
    );
    void this.#afterStart(run);
    const exit = await process.exited;
    this.#lastExit = exit;
    this.#pod.changed();
    const { at, ...how } = exit;
    emit({ type: "exited", container: this.template.name, ...how }, at);
    // The reason is often in the last line it wrote.
    await Promise.race([process.closed, clock.sleep(500)]);
    this.#lastOutput = process.output.tail();
    if (this.#isCrash(exit)) {
      const detail = `${spellExit(exit)}: ${lastWords(this.#lastOutput)}`;
      emit({ type: "crashed", container: this.template.name, detail }, at);
      this.#pod.changed();
    }
    return exit;
  }

  #startProcess(): ContainerProcess {
    const { clock, network, onLine } = this.#pod;
    const launch = this.#pod.launch(this.template);
    const binds = this.#pod.binds(this.template);
    try {
      return new ContainerProcess({ network, launch, binds, now: () => clock.now(), onLine });
    } catch (error) {
      if (error instanceof StageError) throw error;
      throw new StageError(
        "LAMEDUCK_POD_CRASHED",
        `container ${this.template.name}`,
        `it cannot be started: ${messageOf(error)}`,
        { remedy: "correct its arguments and variables: they are too long, or hold what the system refuses" },
      );
    }
  }

  async #afterStart(run: Run): Promise<void> {
    const { postStart, startup, readiness } = this.template;
    if (postStart) {
      const result = await Promise.race([runHook(postStart, this.#target(run)), run.process.exited]);
      // The end of this run says nothing about the hook of the next.
      if (!("ok" in result)) return undefined;
      if (!result.ok) {
        this.#failedPostStart = `postStart hook of ${this.template.name}: ${result.detail}`;
        return this.#restart(run, this.#pod.graceSeconds);
      }
    }
    this.#postStarted = true;
    if (!startup) run.started = true;
    if (!readiness) run.ready = true;
    this.#pod.changed();
  }

  #addProber(kind: "startup" | "liveness" | "readiness"): void {
    const probe = this.template[kind];
    if (!probe) return;
    const prober = new Prober<Run>({
      probe,
      clock: this.#pod.clock,
      subject: () => {
        const run = this.#run;
        if (!run?.process.running || !this.#postStarted) return undefined;
        return run.started === (kind !== "startup") ? run : undefined;
      },
      check: (run) => check(probe.handler, this.#target(run), probe.timeoutSeconds),
      onResult: (success, run) => this.#probed(kind, success, run, prober, probe.graceSeconds),
    });
    this.#probers.push({ kind, prober });
  }

  #probed(
    kind: "startup" | "liveness" | "readiness",
    success: boolean,
    run: Run,
    prober: Prober<Run>,
    graceSeconds: number | undefined,
  ): void {
    if (kind === "readiness") run.ready = success;
    else if (!success) {
      prober.hold();
      void this.#restart(run, graceSeconds ?? this.#pod.graceSeconds);
    } else if (kind === "startup") {
      run.started = true;
      for (const other of this.#probers) if (other.kind !== "startup") other.prober.trigger();
    }
    this.#pod.changed();
  }

  /** Kills a container of a pod that was not deleted: its preStop hook runs all the same, and no endpoint moves. */
  #restart(run: Run, graceSeconds: number): Promise<void> {
    this.#killedByUs = true;
    this.#restarting = stopContainer(
      this.#terminableRun(run),
      graceSeconds,
      [],
      this.#pod.clock,
      this.#pod.emit,
    );
    return this.#restarting;
  }

  #terminableRun(run: Run): Terminable {
    const { process } = run;
    const { preStop, name, stopSignal = "SIGTERM" } = this.template;
    const { emit, clock } = this.#pod;
    const deliver = async (signal: NodeJS.Signals): Promise<void> => {
      const pid = await process.pid;
      const because =
        signal === "SIGKILL" && pid !== undefined ? this.#pod.lastLook(pid, stopSignal) : undefined;
      const at = clock.now();
      if (!(await process.signal(signal))) return;
      emit(
        signal === "SIGKILL"
          ? { type: "killed", container: name, ...(because === undefined ? {} : { because }) }
          : { type: "signalled", container: name, signal },
        at,
      );
    };
    return {
      name,
      exited: process.exited,
      terminate: () => deliver(stopSignal as NodeJS.Signals),
      kill: () => deliver("SIGKILL"),
      ...(preStop ? { preStop: () => runHook(preStop, this.#target(run)) } : {}),
    };
  }

  #target({ process }: Run): HandlerTarget {
    return { ...this.#pod, process };
  }

  #shallRestart(exit: Exit): boolean {
    if (this.role === "sidecar") return true;
    if (this.role === "init") return exit.code !== 0 && this.#pod.restartPolicy !== "Never";
    return (
      this.#pod.restartPolicy === "Always" || (this.#pod.restartPolicy === "OnFailure" && exit.code !== 0)
    );
  }

  #isCrash(exit: Exit): boolean {
    if (this.#pod.ending.aborted || this.#killedByUs) return false;
    return this.role === "init" ? exit.code !== 0 : true;
  }
}

export interface LastWords {
  readonly at: number;
  readonly container: string;
  readonly lines: readonly string[];
  /** Exit code or signal. */
  readonly how: string;
}

/**
 * CrashLoopBackOff: the first restart comes at once, the second 10 s after the end, then twice as late each time, at most 300 s;
 * forgotten after ten minutes without a crash (MaxContainerBackOff, k8s.io/kubernetes/pkg/kubelet).
 */
const firstMs = 10_000;
const mostMs = 300_000;
const forgottenAfterMs = 2 * mostMs;

export class Backoff {
  #delay = 0;
  #last = -Infinity;

  /** Milliseconds to wait before the restart after an end at `now`. */
  next(now: number): number {
    if (now - this.#last > forgottenAfterMs) this.#delay = 0;
    this.#last = now;
    const delay = this.#delay;
    this.#delay = delay === 0 ? firstMs : Math.min(mostMs, delay * 2);
    return delay;
  }
}
