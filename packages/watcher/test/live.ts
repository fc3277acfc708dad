import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** A program of this machine; LAMEDUCK_ENVOY=/path names one that is elsewhere. */
export function programOf(name: string): string | undefined {
  const named = process.env[`LAMEDUCK_${name.toUpperCase()}`];
  if (named !== undefined) return named;
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** A program that runs until the block that has it ends. */
export function running(
  program: string,
  args: readonly string[],
): AsyncDisposable & { readonly process: ChildProcess } {
  const process = spawn(program, args, { stdio: ["ignore", "ignore", "ignore"] });
  const ended = once(process, "exit");
  return {
    process,
    [Symbol.asyncDispose]: async () => {
      process.kill("SIGTERM");
      const late = setTimeout(() => process.kill("SIGKILL"), 5_000);
      await ended;
      clearTimeout(late);
    },
  };
}

/** For a machine that is busy. */
const longestMs = 60_000;

/** Asks until the answer is the one that is awaited; the last one, or why there was none. */
export async function eventually<T>(ask: () => Promise<T>, isAwaited: (answer: T) => boolean): Promise<void> {
  let last: unknown;
  for (const end = performance.now() + longestMs; performance.now() < end; await delay(25)) {
    try {
      const answer = await ask();
      if (isAwaited(answer)) return;
      last = answer;
    } catch (error) {
      last = error;
    }
  }
  throw new Error("it was never as awaited", { cause: last });
}
