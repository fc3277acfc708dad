import { spawn } from "node:child_process";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a short tool to its end. A missing tool is exit code 127, as in a shell. */
export function run(
  file: string,
  args: readonly string[],
  options: { readonly input?: string; readonly milliseconds?: number } = {},
): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(file, args, {
      stdio: "pipe",
      timeout: options.milliseconds ?? 15_000,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
    child.on("error", (error) => resolve({ code: 127, stdout, stderr: stderr + error.message }));
    child.on("close", (code, signal) =>
      resolve({ code: code ?? 128, stdout, stderr: signal ? `${stderr}killed by ${signal}` : stderr }),
    );
    // A tool that ends without reading its input is no failure of ours.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
  });
}
