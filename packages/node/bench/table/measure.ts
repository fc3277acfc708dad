import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseResults, type RemedyResult } from "@lameduck/rollout";
import { bestDelay, type Cell } from "./cells.ts";
import type { Protocol } from "./servers.ts";

export interface Scale {
  readonly replicas: number;
  readonly rollouts: number;
  readonly rps: number;
}

const lameduck = resolve(import.meta.dirname, "../../../cli/bin/lameduck.js");
const pod = join(import.meta.dirname, "pod.ts");

const slow = "--slow-path /slow";
/**
 * Some requests take the pod 300 ms, some calls stream for a second, where the protocol knows such requests. Handshakes of TLS and of
 * HTTP/2 cost client and server a millisecond each: of those two cores bear a hundred a second beside the pods, not 500.
 */
const mixes: Readonly<Record<Protocol, string>> = {
  http: slow,
  https: `--pooled 0.9 ${slow}`,
  h2: `--pooled 0.9 ${slow}`,
  h2c: `--pooled 0.9 ${slow}`,
  ws: "",
  sse: "",
  grpc: "--pooled 0.9 --path /lab.Echo/Unary --slow-path /lab.Echo/Slow --large-path /lab.Echo/Stream",
};

/** Rolls the pods of one cell in the lab, as anyone can: the command is printed. */
export async function measure(
  { protocol, library, configuration }: Cell,
  { replicas, rollouts, rps }: Scale,
  say: (line: string) => void,
): Promise<RemedyResult> {
  const folder = await mkdtemp(join(tmpdir(), "lameduck-table-"));
  const file = join(folder, "results.json");
  try {
    const options =
      `--protocol ${protocol} ${mixes[protocol]} --remedies nothing --senders l4:3,client:1 --propagation 1s..10s ` +
      `--replicas ${replicas} --rollouts ${rollouts} --rps ${rps}`;
    const delay = configuration === "best" ? [String(bestDelay)] : [];
    const command = [process.execPath, pod, protocol, library, ...delay];
    const words = ["lab", ...options.split(/ +/), "--json", file, "--", ...command];
    say(`lameduck ${words.join(" ").replace(file, "FILE").replace(process.execPath, "node")}`);
    await run(words);
    const [result] = parseResults(await readFile(file, "utf8"), file).remedies;
    if (!result || result.skipped !== undefined) throw new Error(result?.skipped ?? "no result");
    return result;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function run(words: readonly string[]): Promise<void> {
  return new Promise((fulfil, reject) => {
    const child = spawn(process.execPath, [lameduck, ...words], {
      stdio: ["ignore", "ignore", "inherit"],
      // In a pod there always is one, and libraries look for it.
      env: { ...process.env, KUBERNETES_SERVICE_HOST: "198.18.0.1" },
    });
    const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
    process.on("SIGTERM", pass).on("SIGINT", pass);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      process.off("SIGTERM", pass).off("SIGINT", pass);
      if (code === 0) fulfil();
      else reject(new Error(`the lab ended with ${signal ?? code}`));
    });
  });
}
