import { normalize } from "node:path/posix";
import type { Field } from "../field.ts";
import type { FilledVolume, VolumeFile } from "./template.ts";

/** What a ConfigMap or Secret of the same file holds, by its keys; undefined where the file has none of that name. */
export type Contents = (
  kind: "ConfigMap" | "Secret",
  name: string | undefined,
) => ReadonlyMap<string, Buffer> | undefined;

export interface Volumes {
  readonly emptyDirs: readonly string[];
  readonly filled: readonly FilledVolume[];
  /** Those that this machine cannot provide. */
  readonly others: readonly string[];
}

/** Keys whose values are text, and keys whose values are base64. The former win. */
const keys = {
  ConfigMap: { text: "data", bytes: "binaryData" },
  Secret: { text: "stringData", bytes: "data" },
} as const;

export function contentsOf(objects: readonly Field[]): Contents {
  return (kind, name) => {
    const object = objects.find(
      (one) => one.at("kind").text() === kind && one.at("metadata").at("name").text() === name,
    );
    if (!object) return undefined;
    const { text, bytes } = keys[kind];
    return new Map([
      ...object
        .at(bytes)
        .entries()
        .map(([key, value]) => [key, Buffer.from(value.mustText(), "base64")] as const),
      ...object
        .at(text)
        .entries()
        .map(([key, value]) => [key, Buffer.from(value.mustText())] as const),
    ]);
  };
}

export function readVolumes(spec: Field, contents: Contents): Volumes {
  const emptyDirs: string[] = [];
  const filled: FilledVolume[] = [];
  const others: string[] = [];
  // The kubelet lets the group of the volumes read them.
  const least = spec.at("securityContext").at("fsGroup").exists ? 0o444 : 0;
  for (const volume of spec.at("volumes").items()) {
    const name = mustBeName(volume.at("name"));
    if (volume.entries().some(([key]) => key === "emptyDir")) {
      emptyDirs.push(name);
      continue;
    }
    const projected = volume.at("projected");
    const sources = projected.exists ? projected.at("sources").items() : [volume];
    const mode = projected.at("defaultMode").mode(0o644);
    const files = sources.map((source) => filesOf(source, contents, mode));
    if (files.includes(undefined)) others.push(name);
    else
      filled.push({
        name,
        files: files.flatMap((some = []) => some.map((one) => ({ ...one, mode: one.mode | least }))),
      });
  }
  return { emptyDirs, filled, others };
}

/** @returns undefined for what is not in the file. */
function filesOf(source: Field, contents: Contents, usualMode: number): VolumeFile[] | undefined {
  for (const [key, kind] of [
    ["configMap", "ConfigMap"],
    ["secret", "Secret"],
  ] as const) {
    const given = source.at(key);
    if (!given.exists) continue;
    const data = contents(kind, given.at("secretName").text() ?? given.at("name").text());
    if (!data) return given.at("optional").isTrue() ? [] : undefined;
    const mode = given.at("defaultMode").mode(usualMode);
    if (!given.at("items").exists)
      return [...data].map(([name, bytes]) => ({ path: pathIn(name, given), bytes, mode }));
    return given
      .at("items")
      .items()
      .map((item) => {
        const name = item.at("key").mustText();
        const bytes = data.get(name) ?? item.at("key").invalid(`${kind} has no key "${name}"`);
        return {
          path: pathIn(item.at("path").mustText(), item.at("path")),
          bytes,
          mode: item.at("mode").mode(mode),
        };
      });
  }
  return undefined;
}

/** As the API server wants names: they name folders here. */
export function mustBeName(field: Field, text = field.mustText()): string {
  if (!/^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text)) field.invalid(`"${text}" is no name`);
  return text;
}

function pathIn(text: string, field: Field): string {
  const path = normalize(text);
  if (path.startsWith("/") || path.split("/").includes("..") || path === ".")
    field.invalid(`${text} leads out of the volume`);
  return path;
}
