import { spawnSync } from "node:child_process";

/** @returns what it wrote to stdout. @throws {Error} with what the program said. */
export function must(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 1 << 26,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`.trim()}`);
}
