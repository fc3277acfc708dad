import { readdirSync, readFileSync } from "node:fs";

/** @param pid - a negative one names a process group. @returns whether there was one. */
export function killIfRunning(pid: number | undefined, signal: NodeJS.Signals): boolean {
  try {
    return pid !== undefined && process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}

/** The (first) child process of a process, from /proc; undefined while there is none. */
export function childOf(pid: number): number | undefined {
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return first ? Number(first) : undefined;
  } catch {
    return searchedChildOf(pid);
  }
}

/** The words with which a process runs. There are none where it has ended or is just becoming another program. */
export function argumentsOf(pid: number): readonly string[] {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return text === "" ? [] : text.replace(/\0$/, "").split("\0");
  } catch {
    return [];
  }
}

/** Kernels without CONFIG_PROC_CHILDREN. */
function searchedChildOf(pid: number): number | undefined {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((candidate) => parentOf(candidate) === pid);
}

/** undefined where it has ended. */
export function parentOf(pid: number): number | undefined {
  try {
    // pid (name, which may contain anything) state parent ...
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ");
    return fields?.[1] === undefined ? undefined : Number(fields[1]);
  } catch {
    return undefined;
  }
}
