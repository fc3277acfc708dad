import type { Field } from "../field.ts";
import type { EnvEntry } from "./template.ts";

/** Downward fields that mean something on one machine. */
const fields =
  /^(metadata\.(name|namespace|uid|labels\['.+'\]|annotations\['.+'\])|spec\.(nodeName|serviceAccountName)|status\.(podIP|podIPs|hostIP|hostIPs))$/;

/** ConfigMaps of the same file, by name. */
export type ConfigMaps = ReadonlyMap<string, Readonly<Record<string, string>>>;

/** env and envFrom of a container; entries later in the list win, and env over envFrom. */
export function readEnvironment(container: Field, configMaps: ConfigMaps): EnvEntry[] {
  const imported = container.at("envFrom").items();
  const own = container.at("env").items();
  return [
    ...imported.flatMap((source) => readWhole(source, configMaps)),
    ...own.flatMap((entry) => readEntry(entry, configMaps) ?? []),
  ];
}

function readWhole(source: Field, configMaps: ConfigMaps): EnvEntry[] {
  const prefix = source.at("prefix").text() ?? "";
  const data = configMaps.get(source.at("configMapRef").at("name").text() ?? "");
  if (!data) source.warn("is left out: only ConfigMaps of the same file are read");
  return Object.entries(data ?? {}).map(([name, value]) => ({ name: prefix + name, value: literal(value) }));
}

function readEntry(entry: Field, configMaps: ConfigMaps): EnvEntry | undefined {
  const name = entry.at("name").mustText();
  const from = entry.at("valueFrom");
  if (!from.exists) return { name, value: entry.at("value").text() ?? "" };
  const path = from.at("fieldRef").at("fieldPath");
  if (path.exists) {
    const field = path.mustText();
    if (fields.test(field)) return { name, field };
    return path.invalid(`"${field}" is no field that a pod of the local stage has`);
  }
  const key = from.at("configMapKeyRef");
  const value = configMaps.get(key.at("name").text() ?? "")?.[key.at("key").text() ?? ""];
  if (value !== undefined) return { name, value: literal(value) };
  from.warn(`${name} is left out: only downward fields and ConfigMaps of the same file are read`);
  return undefined;
}

/** A ConfigMap's value is not searched for references. */
function literal(value: string): string {
  return value.replaceAll("$", () => "$$");
}
