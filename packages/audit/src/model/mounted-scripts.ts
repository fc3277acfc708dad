import { posix } from "node:path";
import type { Field } from "@lameduck/manifests";
import { textsOf, type ConfigMaps } from "./environment.ts";
import { isForShell, noScripts, type Scripts } from "./shell/commands.ts";

interface MountedFile {
  readonly text: string;
  readonly mode: number;
}

/** ConfigMaps that the kubelet writes into files are readable for all, and executable for nobody. */
const usualMode = 0o644;

/** Files of a container that come from ConfigMaps of the input. */
export function mountedScripts(container: Field, pod: Field, configMaps: ConfigMaps): Scripts {
  const mounts = container.at("volumeMounts").items();
  if (mounts.length === 0 || configMaps.size === 0) return noScripts;
  return (path, isProgram) => {
    const file = posix.isAbsolute(path) ? fileAt(posix.normalize(path), mounts, pod, configMaps) : undefined;
    // The kernel starts no file that is not executable. A shell reads it.
    if (file === undefined || (isProgram && (file.mode & 0o111) === 0)) return undefined;
    return isForShell(file.text) ? file.text : undefined;
  };
}

function fileAt(
  path: string,
  mounts: readonly Field[],
  pod: Field,
  configMaps: ConfigMaps,
): MountedFile | undefined {
  // Of mounts within each other, the inner one.
  const [inner] = mounts
    .map((mount) => ({ mount, rest: posix.relative(placeOf(mount), path) }))
    .filter(({ rest }) => !/^\.\.(?:\/|$)/.test(rest))
    .sort((a, b) => a.rest.length - b.rest.length);
  // Its path depends on a variable.
  if (inner === undefined || inner.mount.at("subPathExpr").exists) return undefined;
  const volume = pod
    .at("volumes")
    .items()
    .find((one) => one.at("name").text() === inner.mount.at("name").text());
  const key = posix.join(inner.mount.at("subPath").text() ?? "", inner.rest);
  return volume && filesOf(volume, configMaps).get(key);
}

function placeOf(mount: Field): string {
  return posix.resolve("/", mount.at("mountPath").text() ?? "");
}

/** By their path in the volume. */
function filesOf(volume: Field, configMaps: ConfigMaps): Map<string, MountedFile> {
  const projected = volume.at("projected");
  const files = new Map<string, MountedFile>();
  for (const whole of projected.exists ? [projected] : [volume.at("configMap")]) {
    const mode = whole.at("defaultMode").mode(usualMode);
    const sources =
      whole === projected
        ? whole
            .at("sources")
            .items()
            .map((one) => one.at("configMap"))
        : [whole];
    for (const source of sources) {
      const texts = textsOf(configMaps.get(source.at("name").text() ?? ""));
      const items = source.at("items");
      const named = items.exists
        ? items
            .items()
            .map((one) => [one.at("key").text(), one.at("path").text(), one.at("mode").mode(mode)] as const)
        : Object.keys(texts).map((key) => [key, key, mode] as const);
      for (const [key = "", path = "", own] of named) {
        const text = texts[key];
        if (text !== undefined) files.set(posix.normalize(path), { text, mode: own });
      }
    }
  }
  return files;
}
