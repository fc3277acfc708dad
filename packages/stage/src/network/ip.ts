import { StageError } from "../errors.ts";
import { run } from "./run.ts";

/**
 * Runs commands of `ip`, a line each.
 * @param inside - a command that enters another namespace.
 */
export async function ip(batch: string, inside: readonly string[] = []): Promise<void> {
  const [file, ...rest] = [...inside, "ip", "-batch", "-"];
  const { code, stderr } = await run(file, rest, { input: `${batch}\n` });
  if (code !== 0) throw new StageError("LAMEDUCK_NETWORK_FAILED", "ip", stderr.trim().replaceAll("\n", "; "));
}
