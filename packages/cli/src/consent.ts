import { createInterface } from "node:readline/promises";
import { KubernetesError, type ClusterConnection } from "@lameduck/kube";

export interface Asking {
  readonly connection: ClusterConnection;
  readonly namespaces: readonly string[];
  /** Nothing would be changed. */
  readonly harmless?: boolean;
  readonly yes: boolean;
  readonly signal: AbortSignal;
}

/**
 * Asks before a cluster is changed. What looks like production is confirmed by typing its name, which nobody does by habit.
 * @throws {KubernetesError} LAMEDUCK_NOT_CONFIRMED.
 */
export async function obtainConsent(asking: Asking): Promise<void> {
  const { connection, namespaces, harmless = false, yes, signal } = asking;
  const production = looksLikeProduction([connection.context, connection.cluster, ...namespaces]);
  if (production !== undefined) process.stderr.write(`warning: "${production}" looks like production\n`);
  if (harmless || yes) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new KubernetesError("LAMEDUCK_NOT_CONFIRMED", "--yes", "nobody can be asked here");
  const word = production ?? "yes";
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // In raw mode Ctrl-C is no signal. The end of the input is a no.
    terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    const ended = new Promise<string>((resolve) => terminal.once("close", () => resolve("")));
    const question = `Type ${production === undefined ? word : `"${word}"`} to go on: `;
    const answer = await Promise.race([terminal.question(question, { signal }).catch(() => ""), ended]);
    if (answer.trim() !== word)
      throw new KubernetesError("LAMEDUCK_NOT_CONFIRMED", "nothing was done", `not "${word}"`);
  } finally {
    terminal.close();
  }
}

/** Names of namespaces and contexts that are probably in production. @returns the name that looks so. */
export function looksLikeProduction(names: readonly string[]): string | undefined {
  return names.find((name) => /(^|[^a-z])(prod|prd|production|live)([^a-z]|$)/i.test(name));
}
