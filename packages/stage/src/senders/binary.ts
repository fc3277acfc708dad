import { spawn, type ChildProcess } from "node:child_process";
import { access, constants, mkdtemp } from "node:fs/promises";
import { rmSync } from "node:fs";

import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

import { LoadError } from "@lameduck/load";

/** @throws {LoadError} LAMEDUCK_SENDER_BINARY_MISSING. */
export async function findBinary(name: string, place: string): Promise<string> {
  // Distributions keep servers in sbin, which ordinary users' PATH often lacks.
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/local/sbin", "/usr/sbin"];
  const candidates = name.includes("/") ? [name] : folders.map((folder) => join(folder, name));
  for (const file of candidates)
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  throw new LoadError("LAMEDUCK_SENDER_BINARY_MISSING", place, `${name} is not installed here`);
}

/** A directory that is gone when this process is, however that ends short of SIGKILL. */
export async function ownDirectory(
  name: string,
): Promise<{ readonly path: string; readonly remove: () => void }> {
  const path = await mkdtemp(join(tmpdir(), `lameduck-${name}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  process.on("exit", remove);
  return {
    path,
    remove: () => {
      process.off("exit", remove);
      remove();
    },
  };
}

/** How long a program may take to end in order, milliseconds; then it is killed with everything it started. */
const endTime = 2_000;

/** An external program in the foreground, in a process group of its own. */
export class Program {
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;
  readonly #word: (line: string) => void;
  #words: string[] = [];
  #ended = false;
  #ending = false;

  constructor(options: {
    file: string;
    args: readonly string[];
    /** Called with every line it prints, on either stream. */
    word: (line: string) => void;
    died: (problem: string) => void;
  }) {
    this.#word = options.word;
    // A group of its own keeps a terminal's Ctrl-C away from it and lets its workers be killed with it.
    this.#process = spawn(options.file, options.args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
    for (const stream of [this.#process.stdout, this.#process.stderr]) this.#listen(stream);
    this.#exited = new Promise((resolve) => {
      const ended = (how: string): void => {
        this.#ended = true;
        if (!this.#ending) options.died(`${how}: ${this.#words.slice(-3).join("; ")}`);
        resolve();
      };
      this.#process.on("error", (error) => ended(error.message));
      this.#process.on("close", (code, signal) =>
        ended(`ended with ${signal ?? `exit code ${String(code)}`}`),
      );
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The last lines it printed. */
  get words(): readonly string[] {
    return this.#words;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async end(): Promise<void> {
    this.#ending = true;
    if (this.#ended) return;
    const killer = setTimeout(() => this.#killGroup(), endTime);
    this.#process.kill("SIGTERM");
    await this.#exited;
    clearTimeout(killer);
  }

  #killGroup(): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  #listen(stream: NodeJS.ReadableStream | null): void {
    let rest = "";
    stream?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        this.#words = [...this.#words.slice(-9), line];
        this.#word(line);
      }
    });
  }
}
