import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds from a change until it is told: kube-proxy's sync changes one table after the other. */
const settle = 50;

/** Milliseconds until `nft monitor` is tried again where it has ended. */
const retryAfter = 30_000;

/**
 * Removed rules only: an address falls out of use when one goes. For all changes `nft monitor` keeps every rule in memory, 80 MiB at 3,000
 * Services.
 */
const monitor = ["monitor", "destroy", "rules"] as const;

/**
 * Tells when somebody has changed nftables rules of the node, among them those of iptables-nft. `nft monitor` prints each change once it is in force.
 * What it prints is not read: it only says when to look.
 */
export class RuleChanges {
  #monitor: ChildProcess | undefined;
  #startedAt = -Infinity;
  #changedAt = -Infinity;
  #tell: () => void = () => undefined;

  /** Waits for a change after `since`, by performance.now(). Ends at once where changes cannot be seen, and when the signal ends it. */
  async after(since: number, signal: AbortSignal): Promise<void> {
    this.#start();
    if (this.#monitor === undefined) return;
    if (this.#changedAt < since && !signal.aborted)
      await new Promise<void>((resolve) => {
        this.#tell = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    const rest = Math.max(0, this.#changedAt + settle - performance.now());
    await delay(rest, undefined, { signal }).catch(() => undefined);
  }

  stop(): void {
    this.#monitor?.kill("SIGKILL");
    this.#monitor = undefined;
    this.#startedAt = -Infinity;
  }

  #start(): void {
    const now = performance.now();
    if (this.#monitor !== undefined || now - this.#startedAt < retryAfter) return;
    this.#startedAt = now;
    const child = started();
    // Without a free file descriptor it has no output, and fails later.
    child?.stdout?.on("data", () => this.#changed());
    if (child?.stdout) this.#monitor = child;
    const ended = (): void => {
      if (this.#monitor !== child) return;
      this.#monitor = undefined;
      this.#tell();
    };
    child?.once("error", ended).once("exit", ended);
  }

  #changed(): void {
    this.#changedAt = performance.now();
    this.#tell();
  }
}

/** @returns none where the machine has no memory or no process left for it. */
function started(): ChildProcess | undefined {
  try {
    return spawn("nft", monitor, { stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return undefined;
  }
}
