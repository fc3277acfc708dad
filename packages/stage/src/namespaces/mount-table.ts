import { readFileSync } from "node:fs";

/** Every mount point that this process sees, parents before what is mounted in them. */
export function mountPoints(file = "/proc/self/mountinfo"): string[] {
  const points = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => line.split(" ")[4] ?? [])
    // Spaces and the like are octal there (seq_path in the kernel).
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8))),
    );
  return [...new Set(points)].sort((a, b) => a.length - b.length);
}

/** Whether `path` lies in `directory`, which it is not itself. */
export function isBelow(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory === "/" ? "/" : `${directory}/`);
}
