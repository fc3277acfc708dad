import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { initBinary } from "@lameduck/init";
import { initVolumeFiles, initVolumeSumAnnotation, InitVolumeSource } from "@lameduck/webhook";
import { initVolumeKeys, type Architecture } from "@lameduck/inject";
import { operatorNames, registerFile } from "@lameduck/protocol";
import type { KubernetesObject } from "@lameduck/kube";
import type { Manifest } from "./manifest.ts";

const processors = { amd64: "x64", arm64: "arm64" } as const;

/** Its name and place. */
export const initVolumeIn = (namespace: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: operatorNames.initConfigMap, namespace },
});

/** The ConfigMap that injected pods mount: what the operator copies into a namespace, for a cluster that runs none. */
export function initVolumeFor(namespace: string, needed: readonly Architecture[] | undefined): Manifest {
  const register = registerBundle();
  const files = [
    ...(["amd64", "arm64"] as const).map(
      (architecture) => [initVolumeKeys[architecture], initBinary(processors[architecture])] as const,
    ),
    ...(register === undefined ? [] : [[registerFile, register] as const]),
  ].map(([name, path]) => [name, readFileSync(path)] as const);
  const { binaryData, sum } = new InitVolumeSource(files).of(needed);
  const { metadata, ...kind } = initVolumeIn(namespace);
  return {
    ...kind,
    metadata: {
      ...metadata,
      labels: { "app.kubernetes.io/managed-by": "lameduck" },
      annotations: { [initVolumeSumAnnotation]: sum },
    },
    binaryData,
  };
}

/** What injected pods mount: `usable` also where somebody has made it by hand; `foreign` has no lameduck-init. */
export type InitVolumeState = "usable" | "missing" | "foreign" | "changed";

export interface InitVolumeConfigMap extends KubernetesObject {
  readonly binaryData?: Readonly<Record<string, string>>;
}

export function initVolumeState(initVolume: InitVolumeConfigMap | undefined): InitVolumeState {
  if (initVolume === undefined) return "missing";
  const { metadata, binaryData = {} } = initVolume;
  const sum = metadata.annotations?.[initVolumeSumAnnotation];
  if (sum === undefined)
    return Object.values(initVolumeKeys).some((key) => binaryData[key] !== undefined) ? "usable" : "foreign";
  const files = Object.entries(binaryData).map(
    ([name, text]) => [name, Buffer.from(text, "base64")] as const,
  );
  return initVolumeFiles(files).sum === sum ? "usable" : "changed";
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
