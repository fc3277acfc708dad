import { childOf, killIfRunning } from "../runtime/children.ts";
import { run } from "./run.ts";

/** The command, arranged so that the kernel kills it when this process dies without a chance to say so. */
export async function killedWithParent(command: readonly string[]): Promise<readonly string[]> {
  const prefix = ["setpriv", "--pdeathsig", "KILL", "--"];
  const possible =
    process.platform === "linux" && (await run("setpriv", [...prefix.slice(1), "true"])).code === 0;
  return possible ? [...prefix, ...command] : command;
}

/** Signals the stage's own process: with namespaces it is the child of the unshare that was started. */
export function signalStage(pid: number, wrapped: boolean, signal: NodeJS.Signals): void {
  killIfRunning(wrapped ? childOf(pid) : pid, signal);
}
