import { writeFileSync } from "node:fs";

/**
 * Where the kernel groups processes by session (sched_autogroup), a nice value counts within the session only, and a session as much as any daemon of
 * the cluster. The group has a nice value of its own. For the leader of a session and those it has started.
 */
export function preferOwnSession(): void {
  try {
    writeFileSync("/proc/self/autogroup", "-20");
  } catch {
    // No such groups here: the nice value of the process counts.
  }
}
