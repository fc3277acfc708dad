import type { Field } from "../field.ts";
import type { EnvEntry } from "./template.ts";
import type { Contents } from "./volumes.ts";

/** Downward fields that mean something on one machine. */
const fields =
  /^(metadata\.(name|namespace|uid|labels\['.+'\]|annotations\['.+'\])|spec\.(nodeName|serviceAccountName)|status\.(podIP|podIPs|hostIP|hostIPs))$/;

/** env and envFrom of a container; entries later in the list win, and env over envFrom. */
export function readEnvironment(container: Field, contents: Contents): EnvEntry[] {
  const imported = container.at("envFrom").items();
  const own = container.at("env").items();
  return [
    ...imported.flatMap((source) => readWhole(source, contents)),
    ...own.flatMap((entry) => readEntry(entry, contents) ?? []),
  ];
}

function readWhole(source: Field, contents: Contents): EnvEntry[] {
  const prefix = source.at("prefix").text() ?? "";
  const data = named(source.at("configMapRef"), source.at("secretRef"), contents);
  if (!data) source.warn("is left out: only ConfigMaps and Secrets of the same file are read");
  return [...(data ?? [])]
    .filter(([, value]) => !value.includes(0))
    .map(([name, value]) => ({ name: prefix + name, value: literal(value) }));
}

function named(configMap: Field, secret: Field, contents: Contents): ReturnType<Contents> {
  return configMap.exists
    ? contents("ConfigMap", configMap.at("name").text())
    : contents("Secret", secret.at("name").text());
}

function readEntry(entry: Field, contents: Contents): EnvEntry | undefined {
  const name = entry.at("name").mustText();
  const from = entry.at("valueFrom");
  if (!from.exists) return { name, value: entry.at("value").text() ?? "" };
  const path = from.at("fieldRef").at("fieldPath");
  if (path.exists) {
    const field = path.mustText();
    if (fields.test(field)) return { name, field };
    return path.invalid(`"${field}" is no field that a pod of the local stage has`);
  }
  const [configMap, secret] = [from.at("configMapKeyRef"), from.at("secretKeyRef")];
  const key = (configMap.exists ? configMap : secret).at("key").text() ?? "";
  const value = named(configMap, secret, contents)?.get(key);
  if (value !== undefined && !value.includes(0)) return { name, value: literal(value) };
  from.warn(`${name} is left out: only downward fields, ConfigMaps and Secrets of the same file are read`);
  return undefined;
}

/** Such a value is not searched for references. */
function literal(value: Buffer): string {
  return value.toString().replaceAll("$", () => "$$");
}
