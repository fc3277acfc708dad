import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { InClusterError } from "./errors.ts";

/** A ConfigMap holds 1 MiB. */
const most = 500_000;

/** The program of the load's pods as one file: the one that was bundled for publishing, else, in a clone, bundled now. */
export async function loadProgram(): Promise<string> {
  const text = (await prebuilt()) ?? (await bundled());
  if (text.length <= most) return text;
  throw new InClusterError(
    "LAMEDUCK_IN_CLUSTER_NO_PROGRAM",
    "load program",
    `${text.length} bytes are too many`,
  );
}

async function prebuilt(): Promise<string | undefined> {
  try {
    return await readFile(new URL("./load-pod.mjs", import.meta.url), "utf8");
  } catch {
    return undefined;
  }
}

async function bundled(): Promise<string> {
  const input = fileURLToPath(new URL(`./pod/main${extname(import.meta.url)}`, import.meta.url));
  try {
    const { rolldown } = await import("rolldown");
    await using bundle = await rolldown({ input, platform: "node", logLevel: "silent" });
    const { output } = await bundle.generate({ format: "esm", minify: true, codeSplitting: false });
    return output[0].code;
  } catch (error) {
    throw new InClusterError(
      "LAMEDUCK_IN_CLUSTER_NO_PROGRAM",
      input,
      error instanceof Error ? error.message : String(error),
    );
  }
}
