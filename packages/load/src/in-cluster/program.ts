import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { InClusterError } from "./errors.ts";

/** A ConfigMap holds 1 MiB. */
const mostBytes = 500_000;

/** The program of the load's pods as one file. A published package brings it; in a clone it is bundled from these very modules. */
export async function loadProgram(): Promise<string> {
  const file = new URL("./load-pod.mjs", import.meta.url);
  const text = existsSync(file) ? await readFile(file, "utf8") : await bundledProgram();
  if (text.length <= mostBytes) return text;
  throw new InClusterError(
    "LAMEDUCK_IN_CLUSTER_NO_PROGRAM",
    "load program",
    `${text.length} bytes are too many`,
  );
}

/** @throws {InClusterError} where there is no bundler. */
export async function bundledProgram(): Promise<string> {
  const input = fileURLToPath(new URL(`./pod/main${extname(import.meta.url)}`, import.meta.url));
  const { rolldown } = await import("rolldown").catch((error: unknown) => {
    const problem = error instanceof Error ? error.message : String(error);
    throw new InClusterError("LAMEDUCK_IN_CLUSTER_NO_PROGRAM", "load program", problem);
  });
  await using bundle = await rolldown({ input, platform: "node", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  return output[0].code;
}
