import type { ContainerExit, Termination } from "../../coordinator/termination.ts";

const sigkill = 9;
/** As a shell and the kubelet tell it. */
const exitOfSigkill = 128 + sigkill;
/** The kubelet tells whole seconds of the node's clock, the deletion those of the API server. */
const tolerance = 2_000;

/** Whether the kubelet ended it by SIGKILL at the end of the grace period. Where no exit was seen nobody knows. */
export function wasKilled({ exits, deletedAt, graceSeconds }: Termination): "yes" | "no" | "unknown" {
  if (exits.length === 0) return "unknown";
  const killed = exits.filter(wasSigkilled);
  if (killed.length === 0) return "no";
  const end = deletedAt + graceSeconds * 1_000 - tolerance;
  const isLate = killed.some(({ finishedAt }) => finishedAt !== undefined && finishedAt >= end);
  if (isLate) return "yes";
  return killed.some(({ finishedAt }) => finishedAt === undefined) ? "unknown" : "no";
}

/** By the kubelet's signal, or by the kernel for want of memory, which is no matter of the grace period. */
function wasSigkilled({ exitCode, signal, reason }: ContainerExit): boolean {
  return (exitCode === exitOfSigkill || signal === sigkill) && reason !== "OOMKilled";
}
