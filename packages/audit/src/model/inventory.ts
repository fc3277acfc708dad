import { rolloutHash, selects, serviceSelectsPodsOf, type LabelSelector } from "@lameduck/kube/objects";
import { ManifestError, runsPods, type Field } from "@lameduck/manifests";
import { classOf, isDefaultClass, type SeenClass, withClass } from "@lameduck/senders";
import type { ConfigMaps } from "./environment.ts";
import type { Images } from "./images.ts";
import {
  annotationsIn,
  auditedTypes,
  endsByItself,
  objectOf,
  readOwnerOf,
  workloadTypes,
  type KubeObject,
} from "./object.ts";
import { templateOf, workloadOf, type Relations, type Route, type Workload } from "./workload.ts";

/** Everything that was read, related as Kubernetes relates it. */
export interface Inventory {
  readonly workloads: readonly Workload[];
  readonly objects: readonly KubeObject[];
  /** Mistakes in objects: each costs that object only. */
  readonly failures: readonly ManifestError[];
  /** By kind: objects that no rule reads, patches and templates without containers. */
  readonly skipped: ReadonlyMap<string, number>;
  /** By kind: objects that run pods, and were not judged. */
  readonly unread: ReadonlyMap<string, number>;
}

const routeKinds = new Set(["Ingress", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"]);
const autoscalerKinds = new Set(["HorizontalPodAutoscaler", "ScaledObject"]);

export function inventoryOf(fields: readonly Field[], images: Images): Inventory {
  const failures: ManifestError[] = [];
  const [skipped, unread] = [new Map<string, number>(), new Map<string, number>()];
  const skip = (kind: string, among = skipped): void => void among.set(kind, (among.get(kind) ?? 0) + 1);
  const attempt = <T>(read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  const objects = fields
    .map((field) => attempt(() => objectOf(field)))
    .filter((object) => object !== undefined)
    // The name of a known kind in another group, such as Knative's Service, includes the group.
    .filter(
      (object) =>
        auditedTypes.has(object.type) ||
        skip(
          `${object.field.at("apiVersion").text()} ${object.kind}`,
          runsPods(object.field) ? unread : skipped,
        ),
    );
  // Of several, the first.
  const named = new Map(
    [...objects].reverse().map((one) => [`${one.namespace}/${one.kind}/${one.name}`, one]),
  );
  const described = describedElsewhere(objects, named, attempt);
  const describing = new Set(described.values());
  const related = new Related(objects, attempt);
  const isThere = (owner: Field, { namespace }: KubeObject): boolean =>
    named.has(`${namespace}/${owner.at("kind").text()}/${owner.at("name").text()}`);
  const workloads = objects
    .filter((object) => workloadTypes.includes(object.type) && !describing.has(object))
    .flatMap((object) => {
      const workload = attempt(() => {
        // What a controller made is described by the controller. Of a resource that nobody here reads, such as an operator's, it is not.
        const owner = readOwnerOf(object);
        if (owner && isThere(owner, object)) return undefined;
        if (owner) {
          const kind = owner.at("kind").text() ?? "";
          return skip(`${object.kind} of a ${kind}`, endsByItself(kind) ? skipped : unread);
        }
        const template = templateOf(described.get(object) ?? object);
        if (template === undefined) return skip(`${object.kind} without containers`);
        const labels = template.at("metadata").at("labels").textMap();
        return workloadOf(object, template, images, related.to(object, labels));
      });
      return workload === undefined ? [] : [workload];
    });
  return { workloads, objects, failures, skipped, unread };
}

/** A Rollout may take its pods from a Deployment, which then runs none itself. */
function describedElsewhere(
  objects: readonly KubeObject[],
  byName: ReadonlyMap<string, KubeObject>,
  attempt: Attempt,
): Map<KubeObject, KubeObject> {
  const found = new Map<KubeObject, KubeObject>();
  for (const rollout of objects.filter(({ type }) => type === "argoproj.io/Rollout"))
    attempt(() => {
      const reference = rollout.field.at("spec").at("workloadRef");
      const [kind, name] = [reference.at("kind").text(), reference.at("name").text()];
      const target = byName.get(`${rollout.namespace}/${kind}/${name}`);
      if (target) found.set(rollout, target);
    });
  return found;
}

type Attempt = <T>(read: () => T) => T | undefined;

type Labels = Readonly<Record<string, string>>;

interface Selecting {
  readonly object: KubeObject;
  readonly matches: (labels: Labels, kind: string) => boolean;
}

/** Objects of a namespace that select pods. Each is looked at only for pods with one label that it wants. */
class Selectors {
  readonly #byLabel = new Map<string, Selecting[]>();
  readonly #others: Selecting[] = [];
  readonly #order = new Map<KubeObject, number>();

  /** @param wanted labels that all pods have which it selects. */
  add(selecting: Selecting, wanted: Labels): void {
    const lists = labelsOf(wanted).map((label) => madeFor(this.#byLabel, label, (): Selecting[] => []));
    // A label that many others want, such as that of the chart, leaves many to look at.
    const shortest = lists.reduce((a, b) => (b.length < a.length ? b : a), lists[0] ?? this.#others);
    shortest.push(selecting);
    this.#order.set(selecting.object, this.#order.size);
  }

  /** In the order in which they were added. */
  of(labels: Labels, kind: string): KubeObject[] {
    const order = ({ object }: Selecting): number => this.#order.get(object) ?? 0;
    return [...labelsOf(labels).flatMap((label) => this.#byLabel.get(label) ?? []), ...this.#others]
      .filter(({ matches }) => matches(labels, kind))
      .sort((a, b) => order(a) - order(b))
      .map(({ object }) => object);
  }
}

const labelsOf = (labels: Labels): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`);

/** Objects that lead to pods, read once, found by namespace. */
class Related {
  readonly #services = new Map<string, Selectors>();
  readonly #budgets = new Map<string, Selectors>();
  readonly #routes = new Map<string, Route[]>();
  readonly #classed = new Map<Route, Route>();
  readonly #classes: (KubeObject & SeenClass)[] = [];
  readonly #autoscalers = new Map<string, KubeObject>();
  readonly #configMaps = new Map<string, KubeObject[]>();
  readonly #configMapsOf = new Map<string, ConfigMaps>();
  readonly #claims = new Map<string, KubeObject[]>();

  constructor(objects: readonly KubeObject[], attempt: Attempt) {
    for (const object of objects) attempt(() => this.#add(object));
  }

  to({ kind, namespace, name, field }: KubeObject, labels: Labels): Relations {
    const matching = (all: Map<string, Selectors>): KubeObject[] =>
      nearest(all.get(namespace)?.of(labels, kind) ?? [], field.source.file);
    const services = matching(this.#services);
    return {
      services,
      routes: [...new Set(services.flatMap((one) => this.#routes.get(`${namespace}/${one.name}`) ?? []))].map(
        (one) => this.#withClass(one),
      ),
      autoscaler: this.#autoscalers.get(`${namespace}/${kind}/${name}`),
      budgets: matching(this.#budgets),
      configMaps: this.#configMapsFor(namespace, field.source.file),
      claim: (of) => nearest(this.#claims.get(`${namespace}/${of}`) ?? [], field.source.file)[0],
    };
  }

  #withClass(route: Route): Route {
    const known = this.#classed.get(route);
    if (known) return known;
    const { file } = route.field.source;
    // Of several defaults, too, the one of the route's environment.
    const classes = nearest(this.#classes, file).sort((a, b) => shared(b, file) - shared(a, file));
    const found = { ...route, seen: withClass(route.seen, classes) };
    this.#classed.set(route, found);
    return found;
  }

  #configMapsFor(namespace: string, file: string): ConfigMaps {
    const key = `${namespace}\n${file}`;
    const known = this.#configMapsOf.get(key);
    if (known) return known;
    const all = nearest(this.#configMaps.get(namespace) ?? [], file).map(
      (one) => [one.name, one.field] as const,
    );
    const found = new Map(all);
    this.#configMapsOf.set(key, found);
    return found;
  }

  #add(object: KubeObject): void {
    const { type, kind, namespace, field } = object;
    const spec = field.at("spec");
    if (type === "/Service") {
      const selector = spec.at("selector").textMap();
      const matches: Selecting["matches"] = (labels, of) => serviceSelectsPodsOf(of, selector, labels);
      const { [rolloutHash]: _, ...wanted } = selector;
      madeFor(this.#services, namespace, () => new Selectors()).add({ object, matches }, wanted);
    } else if (type === "/ConfigMap") put(this.#configMaps, namespace, object);
    else if (kind === "IngressClass") this.#classes.push(classIn(object));
    else if (kind === "PersistentVolumeClaim") put(this.#claims, `${namespace}/${object.name}`, object);
    else if (kind === "PodDisruptionBudget") {
      const selector = spec.at("selector");
      const wanted = selectorOf(selector);
      const matches = (labels: Labels): boolean => selector.exists && selects(wanted, labels);
      madeFor(this.#budgets, namespace, () => new Selectors()).add(
        { object, matches },
        wanted.matchLabels ?? {},
      );
    } else if (routeKinds.has(kind)) {
      const route = routeIn(object);
      for (const service of backendsOf(object)) put(this.#routes, service, route);
    } else if (autoscalerKinds.has(kind)) {
      const target = spec.at("scaleTargetRef");
      const of = target.at("kind").text() ?? "Deployment";
      this.#autoscalers.set(`${namespace}/${of}/${target.at("name").mustText()}`, object);
    }
  }
}

function routeIn(object: KubeObject): Route {
  const { kind, field } = object;
  const annotations = annotationsIn(field);
  const named = { kind, annotations, ingressClassName: field.at("spec").at("ingressClassName").text() };
  // Read here, so that a class that is no text costs this object only.
  return { ...object, seen: { ...named, ingressClassName: classOf(named) } };
}

function classIn(object: KubeObject): KubeObject & SeenClass {
  const { name, field } = object;
  const controller = field.at("spec").at("controller").text();
  return { ...object, metadata: { name }, controller, isDefault: isDefaultClass(annotationsIn(field)) };
}

/** "NAMESPACE/SERVICE" of each backend. */
function backendsOf({ kind, namespace, field }: KubeObject): string[] {
  const spec = field.at("spec");
  if (kind !== "Ingress")
    return spec
      .at("rules")
      .items()
      .flatMap((rule) => rule.at("backendRefs").items())
      .filter(
        (backend) =>
          (backend.at("group").text() ?? "") === "" && (backend.at("kind").text() ?? "Service") === "Service",
      )
      .map((backend) => `${backend.at("namespace").text() ?? namespace}/${backend.at("name").mustText()}`);
  const backends = [
    spec.at("defaultBackend"),
    spec.at("backend"),
    ...spec
      .at("rules")
      .items()
      .flatMap((rule) => rule.at("http").at("paths").items())
      .map((path) => path.at("backend")),
  ];
  return backends.flatMap((backend) => {
    const name = backend.at("service").at("name").text() ?? backend.at("serviceName").text();
    return name === undefined ? [] : [`${namespace}/${name}`];
  });
}

function put<T>(all: Map<string, T[]>, key: string, value: T): void {
  madeFor(all, key, () => []).push(value);
}

function madeFor<T>(all: Map<string, T>, key: string, make: () => T): T {
  const known = all.get(key) ?? make();
  all.set(key, known);
  return known;
}

/** Two objects of one name are of two environments: what counts is the one whose file is nearer. */
function nearest<T extends KubeObject>(objects: readonly T[], file: string): T[] {
  const byName = new Map<string, T>();
  for (const one of objects) {
    const known = byName.get(one.name);
    if (known === undefined || shared(one, file) > shared(known, file)) byName.set(one.name, one);
  }
  return [...byName.values()];
}

/** How many folders, and the file itself, two paths have in common. */
function shared({ field }: KubeObject, file: string): number {
  const [own, other] = [field.source.file.split("/"), file.split("/")];
  const differs = own.findIndex((part, index) => part !== other[index]);
  return differs === -1 ? own.length : differs;
}

/** @throws {ManifestError} where an expression lacks its key or operator. */
export function selectorOf(field: Field): LabelSelector {
  const matchExpressions = field
    .at("matchExpressions")
    .items()
    .map((one) => ({
      key: one.at("key").mustText(),
      operator: one.at("operator").mustText(),
      values: one.at("values").texts(),
    }));
  return { matchLabels: field.at("matchLabels").textMap(), matchExpressions };
}
