import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { initBinary } from "@lameduck/init";
import { carrierKeys, operatorNames, registerFile } from "@lameduck/operator";
import type { Manifest } from "./manifest.ts";

const processors = { amd64: "x64", arm64: "arm64" } as const;

/** By which the operator, too, knows a carrier of ours, and whether it is this one. */
export const carrierSumAnnotation = "lameduck.dev/carrier-sum";

/** Its name and place. */
export const carrierIn = (namespace: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: operatorNames.carrierConfigMap, namespace },
});

/** The ConfigMap that injected pods mount: what the operator copies into a namespace, for a cluster that runs none. */
export function carrierFor(namespace: string): Manifest {
  const register = registerBundle();
  const files = [
    ...(["amd64", "arm64"] as const).map(
      (architecture) => [carrierKeys[architecture], initBinary(processors[architecture])] as const,
    ),
    ...(register === undefined ? [] : [[registerFile, register] as const]),
  ].map(([name, path]) => [name, readFileSync(path)] as const);
  const sum = createHash("sha256");
  for (const [name, bytes] of files) sum.update(`${name}\0${bytes.length}\0`).update(bytes);
  const { metadata, ...kind } = carrierIn(namespace);
  return {
    ...kind,
    metadata: {
      ...metadata,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
      annotations: { [carrierSumAnnotation]: sum.digest("hex") },
    },
    binaryData: Object.fromEntries(files.map(([name, bytes]) => [name, bytes.toString("base64")])),
  };
}

/** It is made when the library is packed: a clone may be without. */
function registerBundle(): string | undefined {
  try {
    const path = createRequire(import.meta.url).resolve("@lameduck/node/lameduck-register.cjs");
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
