import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ClusterError } from "../errors.ts";
import { identify, isAlive, onlyChild, signalProcess, type ProcessIdentity } from "./processes.ts";
import { nodePrivateDirectories } from "./paths.ts";
import { requireProgram } from "./requirements.ts";
import { run } from "./run.ts";
import { until } from "./until.ts";

/**
 * A machine of the cluster: network, mount and process namespaces held open by one process, their PID 1. When it is killed the
 * kernel kills everything inside (containers, shims, daemons) and with the last process drops every mount and interface, so
 * that nothing can be left behind, however the run ended.
 */
export interface Sandbox {
  readonly name: string;
  readonly init: ProcessIdentity;
  /** By which its processes are found again. */
  readonly mark: string;
}

/** The environment variable by which processes of a cluster are found again; its value is the state directory. */
export const clusterMark = "LAMEDUCK_CLUSTER";

export async function openSandbox(name: string, holder: string, stateDirectory: string): Promise<Sandbox> {
  const wrapper = spawn(
    "unshare",
    [
      "--mount",
      "--propagation=private",
      "--net",
      "--pid",
      "--fork",
      "--kill-child",
      "--mount-proc",
      "--",
      holder,
    ],
    { detached: true, stdio: "ignore", env: { PATH: process.env["PATH"], [clusterMark]: stateDirectory } },
  );
  let failure: Error | undefined;
  wrapper.on("error", (error) => (failure = error));
  wrapper.unref();
  if (wrapper.pid === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_COMMAND_FAILED",
      `unshare for ${name}`,
      failure?.message ?? "no process",
    );
  }
  const alive = (): boolean => wrapper.exitCode === null && wrapper.signalCode === null;
  const init = await onlyChild(wrapper.pid, alive);
  const sandbox = { name, init, mark: stateDirectory };
  await until(async () => (await inside(sandbox, ["readlink", "/proc/self"])).trim() !== "", {
    what: `namespaces of ${name}`,
    timeoutMs: 10_000,
    everyMs: 10,
  });
  return sandbox;
}

export function enterArguments(sandbox: Sandbox): string[] {
  return ["-t", String(sandbox.init.pid), "--net", "--mount", "--pid"];
}

/** Runs a program inside to its end and returns what it printed. */
export async function inside(sandbox: Sandbox, command: readonly string[], input?: string): Promise<string> {
  return run("nsenter", [...enterArguments(sandbox), "--", ...command], { input });
}

/**
 * Gives a node its own /run, /var/lib and /var/log below `root` (on disk, seen from outside too), and lets mounts propagate
 * among the processes of the node: the kubelet insists on a shared root.
 */
export async function furnishNode(sandbox: Sandbox, root: string): Promise<void> {
  const script = ["mount --make-rshared /"];
  for (const path of nodePrivateDirectories) {
    const own = join(root, path);
    await mkdir(own, { recursive: true });
    script.push(`mount --bind '${own}' ${path}`);
  }
  script.push("mkdir -p /run/netns /run/lock /var/lib/misc");
  await inside(sandbox, ["sh", "-ec", script.join("\n")]);
}

export async function forwardPackets(sandbox: Sandbox): Promise<void> {
  await inside(sandbox, ["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
}

/** Kills PID 1 and waits until the kernel has killed and reaped all the rest. */
export async function closeSandbox(sandbox: Sandbox): Promise<void> {
  await signalProcess(sandbox.init, "SIGKILL");
  await until(async () => (await identify(sandbox.init.pid))?.started !== sandbox.init.started, {
    what: `end of all processes of ${sandbox.name}`,
    timeoutMs: 30_000,
    everyMs: 20,
  });
}

export const isOpen = (sandbox: Sandbox): Promise<boolean> => isAlive(sandbox.init);

/** `ip` commands run in one go inside a sandbox's network namespace only: `netns PID` means a process as the host numbers it. */
export async function configureNetwork(sandbox: Sandbox, commands: readonly string[]): Promise<void> {
  const ip = await requireProgram("ip");
  const enter = ["-t", String(sandbox.init.pid), "--net", "--", ip, "-batch", "-"];
  await run("nsenter", enter, { input: `${commands.join("\n")}\n` });
}
