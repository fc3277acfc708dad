import type { Assumed, ObjectKind, SeenContainer, SeenObject, SeenPod } from "./kind.ts";

export const asProxies: Assumed = { seconds: 10, because: "proxies that watch endpoints take 3 to 10 s" };
export const asIstio: Assumed = {
  seconds: 30,
  because: "Istio gathers changes for up to 10 s, and counts its pushes up to 30 s",
};
export const asUnmeasured: Assumed = { ...asIstio, because: "no figure is published: as Istio" };

/** Where senders lead, besides "NAMESPACE/NAME" of a Service: to every Service, or to every one of a namespace. */
export const everyService = "/";
export const everyServiceIn = (namespace: string): string => `${namespace}/`;

/** A name that a Service can have. */
const nameOfService = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export function serviceAt(namespace: unknown, name: unknown): readonly string[] {
  const isName = (one: unknown): one is string => typeof one === "string" && nameOfService.test(one);
  return isName(namespace) && isName(name) ? [`${namespace}/${name}`] : [];
}

/** The Service of a host, of a URL, or of a host with its port: "web", "web.shop", "http://web.shop.svc.cluster.local:80". */
export function serviceOfHost(host: unknown, namespace: string | undefined): readonly string[] {
  if (typeof host !== "string") return [];
  const [, bare = ""] = /^(?:[a-z][\w+.-]*:\/\/)?([^/:]*)/i.exec(host) ?? [];
  const [name = "", within = namespace, domain] = bare.toLowerCase().split(".");
  if (name === "*") return domain === "svc" ? [`${within}/`] : [everyService];
  return domain === undefined || domain === "svc" ? serviceAt(within, name) : [];
}

type Fields = Readonly<Record<string, unknown>>;

/** The objects that have a key, wherever they stand. No recursion: whoever writes an object chooses how deep it is. */
function objectsWith(object: unknown, key: string): readonly Fields[] {
  const found: Fields[] = [];
  const left: unknown[] = [object];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one !== "object" || one === null) continue;
    for (const value of Object.values(one) as readonly unknown[]) left.push(value);
    if (!Array.isArray(one) && Object.hasOwn(one, key)) found.push(one as Fields);
  }
  return found;
}

/** The values of a key, wherever it stands; those of lists one by one. */
export function valuesAt(object: unknown, key: string): readonly unknown[] {
  return objectsWith(object, key).flatMap(({ [key]: value }) => value);
}

export function fieldsAt(object: unknown, key: string): readonly Fields[] {
  return valuesAt(object, key).filter((one): one is Fields => typeof one === "object" && one !== null);
}

/** Reads Services where `name` is a key whose values are names of them, and `namespace` one beside it. */
export function namedBy(name: string, namespace?: string): ObjectKind["read"] {
  return ({ metadata, spec }) => ({
    services: objectsWith(spec, name).flatMap((one) =>
      serviceAt((namespace !== undefined && one[namespace]) || metadata.namespace, one[name]),
    ),
  });
}

/** Reads Services from objects `{ name, namespace }` at any of these keys. */
export function namedAt(...keys: readonly string[]): ObjectKind["read"] {
  return ({ metadata, spec }) => ({
    services: keys
      .flatMap((key) => fieldsAt(spec, key))
      .flatMap(({ name, namespace = metadata.namespace }) => serviceAt(namespace, name)),
  });
}

const classAnnotations = ["kubernetes.io/ingress.class", "projectcontour.io/ingress.class"];

/**
 * Needs of the classes of Ingresses that an object names: whoever serves one sends for the object. Programs differ in the place that they read first.
 * So every class that it names counts.
 */
export function classesOf({ metadata: { annotations = {} }, spec }: SeenObject): readonly string[] {
  const { ingressClassName } = (spec ?? {}) as Fields;
  const names = [ingressClassName, ...classAnnotations.map((one) => annotations[one])].filter(
    (name): name is string => typeof name === "string" && name !== "",
  );
  return [...new Set(names)].map((name) => `ingress-class/${name.slice(0, 253)}`);
}

export function byClass(read: ObjectKind["read"]): ObjectKind["read"] {
  return (object) => {
    const by = classesOf(object);
    return by.length === 0 ? read(object) : { ...read(object), by };
  };
}

/** The first container of one of these names. */
export function containerOf({ containers }: SeenPod, ...names: readonly string[]): SeenContainer | undefined {
  return containers.find(({ name }) => names.includes(name));
}

/** Whether a container of the pod has such an image. */
export function hasImage({ containers }: SeenPod, image: RegExp): boolean {
  return containers.some(({ image: own = "" }) => image.test(own));
}

/** All words with which a container is started. */
export function wordsOf({ command, args }: SeenContainer): readonly string[] {
  return [...(command ?? []), ...(args ?? [])].filter((one) => typeof one === "string");
}

/** Whether a watcher of Lameduck stands in the pod, which reports for the proxy beside it. */
export function hasWatcher({ containers }: SeenPod): boolean {
  return containers
    .map(wordsOf)
    .some((words) => words.includes("watcher") && words.some((one) => one.startsWith("--consumer")));
}

/** The value of a label or annotation switches something on. */
export const isOn = (value: string | undefined): boolean => value === "true" || value === "enabled";
