import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { operatorNames } from "@lameduck/protocol";
import type { Cluster } from "../../cluster/index.ts";
import { coordinatorPods, watcherOn, watchersReady } from "../installation.ts";
import type { FalseReporterPlan } from "./false-reporter.ts";

const { coordinator, watcher } = operatorNames;

/**
 * A watcher that lies takes the place of a node's own, with that one's rights: whatever is withdrawn it reports as applied. Returns what puts
 * the true one back.
 */
export async function reportFalsely(cluster: Cluster, node: string): Promise<() => Promise<void>> {
  const { pod, pid } = await watcherOn(cluster, node);
  await cluster.inside(node, ["kill", "-STOP", pid]);
  const account = [watcher.workload, "-n", watcher.namespace, "--audience", coordinator.audience];
  const bound = ["--bound-object-kind", "Pod", "--bound-object-name", pod];
  const plan: FalseReporterPlan = {
    node,
    token: (await cluster.kubectl(["create", "token", ...account, ...bound])).trim(),
    coordinators: (await coordinatorPods(cluster)).map(
      ({ address }) => `http://${address}:${coordinator.ports.protocol}`,
    ),
  };
  const file = join(import.meta.dirname, "false-reporter.ts");
  const command = [process.execPath, file, JSON.stringify(plan)];
  const { program, args } = cluster.commandInside(node, command);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  // Its first line says that every replica believes it.
  await Promise.race([
    once(child.stdout, "data"),
    once(child, "exit").then(() => Promise.reject(new Error("the liar ended"))),
  ]);
  return async () => {
    child.kill("SIGKILL");
    await cluster.inside(node, ["kill", "-CONT", pid]);
    await watchersReady(cluster);
  };
}
