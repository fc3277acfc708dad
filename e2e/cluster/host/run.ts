import { spawn } from "node:child_process";
import { ClusterError } from "../errors.ts";

export interface RunOptions {
  readonly input?: string | undefined;
  readonly cwd?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Let the program's own talk through to stderr while it runs (long builds). */
  readonly showProgress?: boolean;
}

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end and returns what it said, whatever its exit status. */
export function attempt(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "pipe", options.showProgress ? "inherit" : "pipe"],
      env: { ...process.env, ...options.environment },
      cwd: options.cwd,
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.on("error", reject);
    child.on("close", (status) => resolve({ status, stdout, stderr }));
    // A program that ends without reading its input breaks the pipe; its exit status says what happened.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(options.input ?? "");
  });
}

/** Like `attempt`, but a failure is an error; returns stdout. */
export async function run(
  program: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  const { status, stdout, stderr } = await attempt(program, args, options);
  if (status !== 0)
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_COMMAND_FAILED",
      `${program} ${args.join(" ")}`.slice(0, 200),
      `exit status ${status}: ${(stderr || stdout).trim()}`,
    );
  return stdout;
}
