import { injectingHandler, type ClusterLookup } from "../src/admission/mutate.ts";
import { answerReview } from "../src/admission/review.ts";
import { validate } from "../src/admission/validate.ts";

type Random = () => number;
type Tree = Record<string, unknown> | unknown[];

/** Part of every hostile text: where it turns up, something has let it through. */
const mark = "h0st1le";
const hostile: readonly unknown[] = [
  `$(touch /tmp/${mark})`,
  `\`${mark}\``,
  `'; ${mark}; '`,
  `"${mark}`,
  `../../${mark}`,
  `/${mark}/..`,
  `${mark}\n--flag`,
  `${mark}\u0000`,
  `\u001b[31m${mark}`,
  `{{${mark}}}`,
  `' || ${mark} || '`,
  `$(${mark})`,
  `${mark}~1~0/a`,
  `${mark}${"x".repeat(70_000)}`,
  "__proto__",
  "constructor",
  "",
  null,
  true,
  -1,
  0,
  1e308,
  Number.MAX_SAFE_INTEGER,
  0.5,
  [],
  {},
  [[[[[[]]]]]],
  [null],
  { name: null },
];

const names = [
  "spec containers initContainers volumes name image command args env value volumeMounts mountPath lifecycle preStop exec",
  "sleep seconds httpGet terminationGracePeriodSeconds restartPolicy nodeSelector kubernetes.io/arch hostNetwork securityContext",
  "metadata annotations labels ownerReferences kind ports containerPort protocol readinessProbe configMap stopSignal",
  "lameduck.dev/inject lameduck.dev/cap lameduck.dev/floor lameduck.dev/init-volume lameduck.dev/grace-period lameduck.dev/injected",
  "lameduck.dev/serves lameduck.dev/instrument-node lameduck.dev/unknown __proto__ constructor capSeconds initImage initConfigMap",
]
  .join(" ")
  .split(" ");

function pod(containers: number): Tree {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "web-", labels: { app: "web" }, annotations: { "lameduck.dev/cap": "20s" } },
    spec: {
      terminationGracePeriodSeconds: 30,
      containers: Array.from({ length: containers }, (_, index) => ({
        name: `c${index}`,
        image: "nginx:1",
        command: ["nginx"],
        ports: [{ containerPort: 80 + index }],
        env: [{ name: "A", value: "b" }],
        volumeMounts: [{ name: "v", mountPath: "/v" }],
      })),
      initContainers: [{ name: "i", image: "busybox", restartPolicy: "Always" }],
      volumes: [{ name: "v", emptyDir: {} }],
    },
  };
}

const policy = (): Tree => ({
  apiVersion: "lameduck.dev/v1alpha1",
  kind: "DrainPolicy",
  metadata: { name: "default", namespace: "shop" },
  spec: { capSeconds: 20, initVolume: "image-volume", initImage: "a/b:1", initConfigMap: "lameduck-init" },
});

const deployment = (): Tree => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", annotations: {} },
  spec: { template: pod(1) },
});

/** One place of the tree gets another value, loses it, or gets one more. */
function spoil(tree: Tree, random: Random): void {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  let at = tree;
  for (;;) {
    const keys = Object.keys(at);
    const key = keys.length === 0 ? "" : pick(keys);
    const inside = (at as Record<string, unknown>)[key];
    if (typeof inside === "object" && inside !== null && random() < 0.8) {
      at = inside as Tree;
      continue;
    }
    const value = structuredClone(pick(hostile));
    if (Array.isArray(at)) {
      if (random() < 0.5 && at.length > 0) at[Number(key)] = value;
      else at.push(random() < 0.5 ? value : structuredClone(at[0]));
    } else if (random() < 0.15) delete at[key];
    else
      Object.defineProperty(at, random() < 0.6 && key !== "" ? key : pick(names), {
        value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    return;
  }
}

/** A body as it may come from anybody. */
export function randomBody(random: Random): string {
  const shapes: readonly [string, string, () => Tree][] = [
    ["", "Pod", () => pod(1 + Math.floor(random() * 3))],
    ["", "Pod", () => pod(random() < 0.002 ? 5_000 : 1)],
    ["lameduck.dev", "DrainPolicy", policy],
    ["apps", "Deployment", deployment],
  ];
  const [group, kind, make] = shapes[Math.floor(random() * shapes.length)] as (typeof shapes)[number];
  const object = make();
  const spoils = Math.floor(random() * 6);
  for (let times = 0; times < spoils; times++) spoil(object, random);
  const review: Tree = {
    apiVersion: random() < 0.1 ? "admission.k8s.io/v1beta1" : "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "uid-1",
      kind: { group, version: "v1", kind },
      operation: random() < 0.8 ? "CREATE" : "UPDATE",
      namespace: "shop",
      object,
      oldObject: random() < 0.3 ? make() : null,
    },
  };
  if (random() < 0.1) spoil(review, random);
  const text = JSON.stringify(review);
  return random() < 0.03 ? text.slice(0, Math.floor(random() * text.length)) : text;
}

/** Policies as hostile as the pods: they were stored before anybody judged them. */
function clusterOf(random: Random): ClusterLookup {
  const policyOf = (): Tree | undefined => {
    if (random() < 0.5) return undefined;
    const object = policy();
    for (let times = 0; times < 3; times++) spoil(object, random);
    return object;
  };
  return {
    pathsTo: () => (random() < 0.1 ? undefined : { exposedBy: [`Service ${mark}`], convergence: undefined }),
    labelsOf: () => ({ "lameduck.dev/inject": "enabled" }),
    policyOf,
    architectures: random() < 0.5 ? undefined : ["amd64"],
  };
}

const never = new AbortController().signal;

const path = /^\/(?:metadata|spec)(?:\/(?:[A-Za-z]+|\d+|-|[a-z.]+~1[a-z-]+))*$/;

/** @returns what is wrong with the answers to a body; nothing where they are as they must be. */
export async function wrongWith(body: string, random: Random): Promise<string[]> {
  const wrong: string[] = [];
  const judges = {
    mutate: injectingHandler({
      cluster: clusterOf(random),
      namespace: "lameduck-system",
      lameduckVersion: "0.1.0",
      version: () => (random() < 0.2 ? undefined : { major: 1, minor: 28 + Math.floor(random() * 10) }),
    }),
    validate,
  };
  for (const [name, judge] of Object.entries(judges)) {
    const answer = await answerReview(body, judge, never, (error) =>
      wrong.push(`${name} threw ${String(error)}`),
    );
    const { apiVersion, kind, response } = JSON.parse(answer.body) as {
      apiVersion: string;
      kind: string;
      response: {
        uid: string;
        allowed: unknown;
        patch?: string;
        warnings?: string[];
        status?: { message: string };
      };
    };
    const say = (what: string): void => void wrong.push(`${name}: ${what}`);
    if (kind !== "AdmissionReview" || !apiVersion.startsWith("admission.k8s.io/")) say("no AdmissionReview");
    if (typeof response.allowed !== "boolean" || typeof response.uid !== "string") say("no whole answer");
    if (name === "mutate" && response.allowed !== true) say("rejects");
    // oxlint-disable-next-line no-control-regex
    if (/[\u0000-\u001f\u007f]/.test([...(response.warnings ?? []), response.status?.message ?? ""].join("")))
      say("a control character in a message");
    if (response.patch !== undefined)
      wrong.push(...wrongPatch(response.patch, body).map((one) => `${name}: ${one}`));
  }
  if ("polluted" in {} || mark in {}) wrong.push("a prototype was changed");
  return wrong;
}

function wrongPatch(patch: string, body: string): string[] {
  const operations = JSON.parse(Buffer.from(patch, "base64").toString()) as {
    op: string;
    path: string;
    value: unknown;
  }[];
  const wrong: string[] = [];
  const { request } = JSON.parse(body) as { request: { object: unknown } };
  for (const { op, path: at, value } of operations) {
    if (op !== "add" && op !== "replace") wrong.push(`op ${op}`);
    if (!path.test(at)) wrong.push(`path ${at}`);
    if (at.includes("lifecycle") && JSON.stringify(value).includes(mark))
      wrong.push(`a hostile text in ${at}`);
    if (!applies(request.object, at)) wrong.push(`nothing is at ${at}`);
    else put(request.object, at, value);
  }
  return wrong;
}

function parentOf(object: unknown, at: string): unknown {
  return at
    .split("/")
    .slice(1, -1)
    .map((key) => key.replaceAll("~1", "/"))
    .reduce<unknown>(
      (inside, key) =>
        typeof inside === "object" && inside !== null ? (inside as Record<string, unknown>)[key] : undefined,
      object,
    );
}

function applies(object: unknown, at: string): boolean {
  const parent = parentOf(object, at);
  return typeof parent === "object" && parent !== null;
}

function put(object: unknown, at: string, value: unknown): void {
  const parent = parentOf(object, at) as Tree;
  const key = (at.split("/").at(-1) ?? "").replaceAll("~1", "/");
  if (Array.isArray(parent)) {
    if (key === "-") parent.push(value);
    else parent.splice(Number(key), 1, value);
  } else (parent as Record<string, unknown>)[key] = value;
}
