import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { InClusterError } from "./errors.ts";

/** A ConfigMap holds 1 MiB. */
const most = 500_000;

/** The program of the load's pods as one file: bundled from these very modules in a clone, where the bundler is, else the published one. */
export async function loadProgram(): Promise<string> {
  const text = (await bundled().catch(() => undefined)) ?? (await published());
  if (text.length <= most) return text;
  throw new InClusterError(
    "LAMEDUCK_IN_CLUSTER_NO_PROGRAM",
    "load program",
    `${text.length} bytes are too many`,
  );
}

/** Not the published file first: one from an earlier build would speak to other modules than it was made of. */
async function bundled(): Promise<string> {
  const input = fileURLToPath(new URL(`./pod/main${extname(import.meta.url)}`, import.meta.url));
  const { rolldown } = await import("rolldown");
  await using bundle = await rolldown({ input, platform: "node", logLevel: "silent" });
  const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
  return output[0].code;
}

async function published(): Promise<string> {
  const file = new URL("./load-pod.mjs", import.meta.url);
  try {
    return await readFile(file, "utf8");
  } catch {
    throw new InClusterError("LAMEDUCK_IN_CLUSTER_NO_PROGRAM", fileURLToPath(file), "there is no such file");
  }
}
