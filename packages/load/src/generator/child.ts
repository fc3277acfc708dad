import { lastWords } from "../answer.ts";
import { spawn, type ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** How long a child may take to clean up after its channel has closed; then it is killed. */
const leaveTimeMs = 5_000;

/** The program that a generator's process runs. */
export const generatorProgram = new URL(`./generator-process${extname(import.meta.url)}`, import.meta.url);

/** One of our own programs in a process of its own, driven by messages. */
export class Child<In, Out> {
  readonly #process: ChildProcess;
  readonly #exited: Promise<void>;
  #words = "";
  #leaving = false;

  /** @param program the module that the process runs. */
  constructor(options: {
    program: URL;
    received: (message: Out) => void;
    /** The program ended without being asked to. */
    died: (how: string) => void;
  }) {
    const file = fileURLToPath(options.program);
    // A test runner's variable would make the child report to it.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    this.#process = spawn(process.execPath, [file], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      serialization: "advanced",
      env,
    });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#words = (this.#words + text).slice(-4_000);
    });
    this.#process.on("message", (message) => options.received(message as Out));
    this.#exited = new Promise((resolve) => {
      const ended = (how: string): void => {
        if (!this.#leaving)
          options.died(
            `${how}${this.#words === "" ? "" : `: ${lastWords(this.#words.split("\n").filter((line) => line.trim() !== ""))}`}`,
          );
        resolve();
      };
      this.#process.on("error", (error) => ended(error.message));
      // Not "close": Node never emits it after the parent itself has disconnected. The last messages come before the pipe's end.
      this.#process.on("exit", (code, signal) => {
        const how = `ended with ${signal ?? `exit code ${String(code)}`}`;
        if (this.#process.stderr?.closed === false) this.#process.stderr.once("close", () => ended(how));
        else ended(how);
      });
    });
  }

  send(message: In): void {
    if (this.#process.connected) this.#process.send(message as object, () => undefined);
  }

  /** Ends it, in order if it can, and waits until it has gone. */
  async close(): Promise<void> {
    this.#leaving = true;
    if (this.#process.connected) this.#process.disconnect();
    const killer = setTimeout(() => this.#process.kill("SIGKILL"), leaveTimeMs);
    await this.#exited;
    clearTimeout(killer);
  }
}
