import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { ClusterError } from "./errors.ts";
import {
  identify,
  isAlive,
  isStopped,
  listeningPorts,
  onlyChild,
  signalProcess,
  type ProcessIdentity,
} from "./host/processes.ts";
import { clusterMark, enterArguments, type Sandbox } from "./host/sandbox.ts";
import { until } from "./host/until.ts";

/** How a daemon of the cluster is started, each time alike. */
export interface ComponentPlan {
  readonly name: string;
  readonly sandbox: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly log: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The TCP port of its own namespace on which it listens once it works. */
  readonly answersOn?: number;
  /** A loopback port of the host's own namespace whose listening socket is handed to the program (the gateway). */
  readonly listensOutside?: number;
}

export interface RunningComponent {
  readonly plan: ComponentPlan;
  readonly process: ProcessIdentity;
  /** nsenter, which forks into the process namespace and waits. It stops itself when its child is stopped. */
  readonly wrapper: ProcessIdentity;
  readonly starts: number;
}

export type ComponentState = "running" | "stopped" | "ended";

export async function start(plan: ComponentPlan, sandbox: Sandbox, starts = 1): Promise<RunningComponent> {
  const listener = plan.listensOutside === undefined ? undefined : await listenOutside(plan.listensOutside);
  const log = openSync(plan.log, "a");
  const child = spawn("nsenter", [...enterArguments(sandbox), "--", plan.program, ...plan.args], {
    detached: true,
    stdio: listener === undefined ? ["ignore", log, log] : ["ignore", log, log, "ipc"],
    env: { PATH: `${process.env["PATH"]}:/usr/sbin:/sbin`, ...plan.environment, [clusterMark]: sandbox.mark },
  });
  closeSync(log);
  child.on("error", () => undefined);
  child.unref();
  if (child.pid === undefined)
    throw new ClusterError("LAMEDUCK_CLUSTER_COMMAND_FAILED", plan.name, "nsenter could not be started");
  try {
    if (listener !== undefined) await handOver(child, listener);
    const inner = await onlyChild(child.pid, () => child.exitCode === null && child.signalCode === null);
    const wrapper = await identify(child.pid);
    if (wrapper === undefined) throw new Error("gone");
    return { plan, process: inner, wrapper, starts };
  } catch (error) {
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_COMPONENT_ENDED",
      plan.name,
      `did not start (${error instanceof Error ? error.message : String(error)}); ${await lastWords(plan)}`,
    );
  }
}

/** A socket belongs to the namespace in which it was made: made here and handed over, it lets a process in there serve this machine's loopback. */
function listenOutside(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function handOver(child: ReturnType<typeof spawn>, listener: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("ended before it took its socket")));
    child.once("message", () => {
      child.disconnect();
      listener.close(() => resolve());
    });
    child.send("listener", listener, (error) => (error === null ? undefined : reject(error)));
  });
}

export async function stateOf(component: RunningComponent): Promise<ComponentState> {
  if (!(await isAlive(component.process))) return "ended";
  return (await isStopped(component.process)) ? "stopped" : "running";
}

/** Whether it has begun to listen (containerd and the gateway, which have no port in there, count as soon as they run). */
export async function isListening(component: RunningComponent): Promise<boolean> {
  if ((await stateOf(component)) === "ended")
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_COMPONENT_ENDED",
      component.plan.name,
      `ended by itself; ${await lastWords(component.plan)}`,
    );
  const { answersOn } = component.plan;
  return answersOn === undefined || (await listeningPorts(component.process.pid)).has(answersOn);
}

/** SIGSTOP: the process keeps its sockets and answers nothing, as a machine does that is far too slow. */
export async function pause(component: RunningComponent): Promise<void> {
  await mustSignal(component, "SIGSTOP");
  await until(async () => (await stateOf(component)) === "stopped", {
    what: `${component.plan.name} stopped`,
    everyMs: 5,
  });
}

export async function resume(component: RunningComponent): Promise<void> {
  await mustSignal(component, "SIGCONT");
  await signalProcess(component.wrapper, "SIGCONT");
}

export async function kill(component: RunningComponent, signal: NodeJS.Signals): Promise<void> {
  await mustSignal(component, signal);
  await signalProcess(component.wrapper, "SIGCONT");
  // Gone, not only a zombie: its first thread may be one while others still hold its sockets.
  await until(async () => (await identify(component.process.pid))?.started !== component.process.started, {
    what: `end of ${component.plan.name} after ${signal}`,
    everyMs: 10,
  });
}

async function mustSignal(component: RunningComponent, signal: NodeJS.Signals): Promise<void> {
  if (await signalProcess(component.process, signal)) return;
  throw new ClusterError(
    "LAMEDUCK_CLUSTER_COMPONENT_ENDED",
    component.plan.name,
    `${signal} came too late; ${await lastWords(component.plan)}`,
  );
}

export async function lastWords(plan: ComponentPlan): Promise<string> {
  const log = await readFile(plan.log, "utf8").catch(() => "");
  const line = log.trimEnd().split("\n").at(-1) ?? "";
  return `log ${plan.log}${line === "" ? " (empty)" : `, last line: ${line.slice(0, 300)}`}`;
}
