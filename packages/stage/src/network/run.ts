import { spawn } from "node:child_process";
import { StageError } from "../errors.ts";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The words of a command line without quotes. */
export function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

/** Runs a short tool to its end. A missing tool is exit code 127, as in a shell. */
export function run(
  file: string,
  args: readonly string[],
  options: { readonly input?: string; readonly milliseconds?: number; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Finished> {
  const { milliseconds = 15_000, env = process.env } = options;
  // Not spawn's own timeout: where the tool is missing, that keeps the process for as long.
  const limit = AbortSignal.timeout(milliseconds);
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: "pipe", env, signal: limit, killSignal: "SIGKILL" });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    child.on("error", (error) =>
      resolve(
        limit.aborted
          ? { code: 128, stdout, stderr: `${stderr}killed after ${milliseconds} ms` }
          : { code: 127, stdout, stderr: stderr + error.message },
      ),
    );
    child.on("close", (code, signal) =>
      resolve({ code: code ?? 128, stdout, stderr: signal ? `${stderr}killed by ${signal}` : stderr }),
    );
    // A tool that ends without reading its input is no failure of ours.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}

/**
 * Runs commands of `ip`, a line each.
 * @param inside - a command that enters another namespace.
 */
export async function ip(batch: string, inside: readonly string[] = []): Promise<void> {
  const [file, ...rest] = [...inside, "ip", "-batch", "-"];
  const { code, stderr } = await run(file, rest, { input: `${batch}\n` });
  if (code !== 0) throw new StageError("LAMEDUCK_NETWORK_FAILED", "ip", stderr.trim().replaceAll("\n", "; "));
}
