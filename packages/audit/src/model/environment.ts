import type { Field } from "@lameduck/manifests";
import { askedOnce } from "./asked-once.ts";
import { dereferenced, unknown, type Variables } from "./shell/scope.ts";

/** ConfigMaps of the input that are of the pod's namespace, by name. */
export type ConfigMaps = ReadonlyMap<string, Field>;

interface Environment {
  /** Variables whose value is known. */
  readonly env: ReadonlyMap<string, string>;
  /** Where each stands. */
  readonly envFields: ReadonlyMap<string, Field>;
  readonly variables: Variables;
}

/** As the kubelet puts it together: the image's, then `envFrom`, then `env`; the last of a name wins. */
export function environmentOf(
  container: Field,
  configMaps: ConfigMaps,
  ofImage: Readonly<Record<string, string>> = {},
): Environment {
  const values = new Map(Object.entries(ofImage));
  const envFields = new Map<string, Field>();
  let isPartial = false;
  for (const source of container.at("envFrom").items()) {
    const data = configMaps.get(source.at("configMapRef").at("name").text() ?? "");
    if (data === undefined) isPartial = true;
    const prefix = source.at("prefix").text() ?? "";
    for (const [name, value] of Object.entries(textsOf(data))) {
      values.set(prefix + name, value);
      envFields.set(prefix + name, data!.at("data").at(name));
    }
  }
  for (const entry of container.at("env").items()) {
    const name = entry.at("name").mustText();
    const value = entry.at("value");
    const key = entry.at("valueFrom").at("configMapKeyRef");
    const map = configMaps.get(key.at("name").text() ?? "");
    const keyName = key.at("key").text() ?? "";
    const kept = textsOf(map)[keyName];
    envFields.set(
      name,
      value.exists ? value : kept === undefined ? entry.at("name") : map!.at("data").at(keyName),
    );
    if (kept !== undefined) values.set(name, kept);
    else if (entry.at("valueFrom").exists) values.set(name, unknown);
    else values.set(name, dereferenced(value.text() ?? "", values));
  }
  const env = new Map([...values].filter(([, value]) => !value.includes(unknown)));
  return { env, envFields, variables: { values, isPartial } };
}

/** Of `data`. Whatever is no text, the API server refuses. */
export function textsOf(map: Field | undefined): Readonly<Record<string, string>> {
  return map === undefined ? {} : textsIn(map);
}

const textsIn = askedOnce((map: Field): Readonly<Record<string, string>> => {
  const { data } = map.plain() as { data?: unknown };
  if (typeof data !== "object" || data === null) return {};
  return Object.fromEntries(
    Object.entries(data).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
});
