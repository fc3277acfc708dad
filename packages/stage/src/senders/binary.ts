import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { connects, LoadError } from "@lameduck/load/proxies";
import { killIfRunning } from "../runtime/children.ts";
import { findCommand } from "../runtime/find-command.ts";
import { Output } from "../runtime/output.ts";

/** @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING. */
export function findBinary(name: string, place: string): string {
  // Distributions keep servers in sbin, which ordinary users' PATH often lacks.
  const path = `${process.env["PATH"] ?? ""}:/usr/local/sbin:/usr/sbin`;
  const file = findCommand(name, path, process.cwd());
  if (file === undefined)
    throw new LoadError("LAMEDUCK_SENDER_BINARY_MISSING", place, `${name} is not installed here`);
  return file;
}

/** A directory that is gone when this process is, however that ends short of SIGKILL. */
export async function ownDirectory(name: string) {
  const path = await mkdtemp(join(tmpdir(), `lameduck-${name}-`));
  const remove = (): void => {
    process.off("exit", remove);
    rmSync(path, { recursive: true, force: true });
  };
  process.on("exit", remove);
  return { path, remove };
}

/** How long a program may take to end in order; then it is killed with everything it started. */
const endTimeMs = 2_000;
/** Longest time a proxy may take to listen. */
const startTimeMs = 10_000;

interface ProgramOptions {
  readonly file: string;
  readonly args: readonly string[];
  /** Called with every line it prints, on either stream. */
  readonly onLine: (line: string) => void;
  readonly died: (problem: string) => void;
}

/** Starts an external program in the foreground, in a process group of its own. */
export function startProgram({ file, args, onLine, died }: ProgramOptions) {
  const output = new Output(onLine);
  const lastLines = (): string => output.tail().slice(-3).join("; ");
  let state: "running" | "ending" | "ended" = "running";
  // A group of its own keeps a terminal's Ctrl-C away from it and lets its workers be killed with it.
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  output.read(child.stdout);
  output.read(child.stderr);
  const exited = new Promise<void>((resolve) => {
    const ended = (how: string): void => {
      if (state === "running") died(`${how}: ${lastLines()}`);
      state = "ended";
      resolve();
    };
    child.on("error", (error) => ended(error.message));
    child.on("close", (code, signal) => ended(`ended with ${signal ?? `exit code ${String(code)}`}`));
  });
  return {
    lastLines,
    signal: (signal: NodeJS.Signals): void => void child.kill(signal),
    /** Resolves when it listens there. @throws {LoadError} LAMEDUCK_SENDER_FAILED with the program's own words. */
    listening: async (host: string, port: number, sender: string): Promise<void> => {
      const deadline = performance.now() + startTimeMs;
      while (!(await connects({ host, port }))) {
        if (state === "ended" || performance.now() > deadline)
          throw new LoadError(
            "LAMEDUCK_SENDER_FAILED",
            `sender ${sender}`,
            `does not listen: ${lastLines()}`,
          );
        await delay(20);
      }
    },
    end: async (): Promise<void> => {
      if (state === "ended") return;
      state = "ending";
      const killer = setTimeout(() => killIfRunning(child.pid && -child.pid, "SIGKILL"), endTimeMs);
      child.kill("SIGTERM");
      await exited;
      clearTimeout(killer);
    },
  };
}
