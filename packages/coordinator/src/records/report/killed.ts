import type { ContainerExit } from "@lameduck/cluster";
import type { Termination } from "../../termination.ts";

const sigkill = 9;
/** Exit code after SIGKILL, as the kubelet reports it. */
const exitOfSigkill = 128 + sigkill;
/** Milliseconds. The exit has whole seconds of the node's clock, the deletion whole seconds of the API server's. */
const tolerance = 2_000;

/** Whether the kubelet sent SIGKILL at the end of the grace period. Unknown where no exit was seen. */
export function wasKilled({ exits, deletedAt, graceSeconds }: Termination): "yes" | "no" | "unknown" {
  if (exits.length === 0) return "unknown";
  const killed = exits.filter(wasSigkilled);
  if (killed.length === 0) return "no";
  const end = deletedAt + graceSeconds * 1_000 - tolerance;
  const isLate = killed.some(({ finishedAt }) => finishedAt !== undefined && finishedAt >= end);
  if (isLate) return "yes";
  return killed.some(({ finishedAt }) => finishedAt === undefined) ? "unknown" : "no";
}

/** Whether SIGKILL ended it, other than the kernel's for lack of memory, which has nothing to do with the grace period. */
function wasSigkilled({ exitCode, signal, reason }: ContainerExit): boolean {
  return (exitCode === exitOfSigkill || signal === sigkill) && reason !== "OOMKilled";
}
