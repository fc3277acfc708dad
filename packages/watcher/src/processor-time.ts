import { readFileSync } from "node:fs";

/** Milliseconds of a tick: /proc counts processor time in hundredths of a second. */
const tick = 10;
/** utime, stime, cutime and cstime in /proc/PID/stat, counted after the program's name, which may contain spaces. */
const times = [11, 15] as const;

/** Milliseconds of processor time that this process has used, and the programs that it has run to their end. */
export function processorTime(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  return fields.slice(...times).reduce((sum, ticks) => sum + Number(ticks) * tick, 0);
}
