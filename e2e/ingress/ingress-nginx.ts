import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { SenderEvent } from "@lameduck/accounting";
import { cacheDirectory } from "../cluster/host/paths.ts";
import { buildIngressNginx } from "../cluster/host/programs.ts";
import { writeImage } from "../cluster/images/image.ts";
import { ingressNginxImage, ingressNginxOf } from "../cluster/images/ingress-nginx.ts";
import { until, type Cluster, type Manifest } from "../cluster/index.ts";
import { changes } from "../matrix/observe/proxies.ts";
import { apply, fetchFrom } from "../test/support.ts";
import { ingressNode, type Ingress, type IngressOptions } from "./ingress.ts";
import { followLog } from "./pod-log.ts";
import { watcherBeside, type Beside } from "./watcher-beside.ts";

const namespace = "ingress-nginx";
const name = "ingress-nginx-controller";
const ingressClass = "nginx";
const watcherFlags = ["--consumer=ingress-nginx", `--serves=ingress-class/${ingressClass}`];
const labels = "app.kubernetes.io/component=controller";

/** Its account, which a watcher in its pod has, too. */
export const ingressNginxAccount = { name: "ingress-nginx", namespace };

interface IngressNginxOptions extends IngressOptions {
  readonly podAt: (address: string) => string | undefined;
}

/**
 * The real ingress-nginx, by the manifests of its manual for a cluster without a cloud, on one node, with its defaults: at most 0.3 changes a second, and
 * retries. Only image and template are other ones, and its admission webhook is left out. Where a coordinator is installed, its pod has a watcher.
 */
export async function startIngressNginx(options: IngressNginxOptions): Promise<Ingress> {
  const { cluster, service, upstream } = options;
  await using stack = new AsyncDisposableStack();
  const built = await buildIngressNginx(cacheDirectory(), () => undefined);
  const image = await ingressNginxOf(built);
  await cluster.loadImage((file) => writeImage(image, file));
  stack.defer(() => remove(cluster, service));
  await apply(cluster, ...(await manifestsOf(cluster, built)));
  await apply(cluster, ingressTo(service, upstream));
  await cluster.kubectl(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=120s"]);
  const selection = ["pods", "-n", namespace, "-l", labels];
  const pod = await cluster.field(selection, "{.items[0].metadata.name}");
  const address = await cluster.field(selection, "{.items[0].status.podIP}");
  const lists = stack.use(await followLists(options, pod));
  const url = `http://${address}/`;
  const answers = (): Promise<boolean> =>
    fetchFrom(cluster, ingressNode, url).then(([text]) => isFromPod(text));
  await until(answers, { what: "an answer of a pod through ingress-nginx", timeoutMs: 60_000 });
  const kept = stack.move();
  return {
    url,
    name,
    sendsToPods: upstream === "pods",
    events: lists.events,
    reaches: lists.reaches,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** nginx's own pages are HTML. */
const isFromPod = (text = ""): boolean => text !== "" && !text.startsWith("<");

async function remove(cluster: Cluster, service: string): Promise<void> {
  await cluster.kubectl(["delete", "ingress", service, "--ignore-not-found"]);
  // A ReplicaSet that is still there would replace the pods. Nothing waits for their grace period so.
  const leaving = ["-n", namespace, "--ignore-not-found", "--cascade=orphan"];
  await cluster.kubectl(["delete", "deployment", name, ...leaving]);
  await cluster.kubectl(["delete", "replicasets", "-l", labels, ...leaving]);
  await cluster.kubectl(["delete", "pods", "-n", namespace, "-l", labels, "--grace-period=1"]);
}

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string }[];
}

interface ControllerDeployment {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly Container[] };
    };
  };
}

async function manifestsOf(cluster: Cluster, built: string): Promise<Manifest[]> {
  const text = await readFile(join(built, "deploy.yaml"), "utf8");
  const all = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  const own = all.filter(({ metadata }) => !metadata.name.includes("admission"));
  const template = await readFile(join(import.meta.dirname, "ingress-nginx.tmpl"), "utf8");
  const watcher = await watcherBeside(cluster, watcherFlags);
  return [
    ...own.map((object) => {
      // Debian's nginx does not know `http2 on`.
      if (object.kind === "ConfigMap") return { ...object, data: { "use-http2": "false" } };
      return object.kind === "Deployment" ? adapted(object, watcher) : object;
    }),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "template", namespace },
      data: { "nginx.tmpl": template },
    },
  ];
}

function adapted(object: Manifest, watcher: Beside | undefined): Manifest {
  const { spec } = object as unknown as ControllerDeployment;
  const [container] = spec.template.spec.containers;
  if (container === undefined) throw new Error("the Deployment of ingress-nginx has no container");
  // Debian's library has another allocator, and there is no webhook, and no shell for a hook.
  const { lifecycle: _, ...rest } = container as Container & { readonly lifecycle?: object };
  const controller = {
    ...rest,
    image: ingressNginxImage,
    args: container.args.filter((one) => one.startsWith("--") && !one.includes("validating-webhook")),
    env: container.env.filter((variable) => variable.name !== "LD_PRELOAD"),
    volumeMounts: [{ name: "template", mountPath: "/etc/nginx/template", readOnly: true }],
    readinessProbe: { httpGet: { path: "/healthz", port: 10254 }, periodSeconds: 1 },
  };
  const pod = {
    ...spec.template.spec,
    nodeSelector: { "kubernetes.io/hostname": ingressNode },
    // The watcher sees nginx's workers so, and ends after the controller.
    ...(watcher === undefined
      ? {}
      : {
          shareProcessNamespace: true,
          initContainers: [{ ...watcher.container, restartPolicy: "Always" }],
        }),
    containers: [controller],
    volumes: [
      { name: "template", configMap: { name: "template" } },
      ...(watcher === undefined ? [] : [watcher.volume]),
    ],
  };
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: pod } } };
}

function ingressTo(service: string, upstream: IngressOptions["upstream"]): Manifest {
  const annotation = "nginx.ingress.kubernetes.io/service-upstream";
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: service,
      namespace: "default",
      annotations: { [annotation]: String(upstream === "service") },
    },
    spec: {
      ingressClassName: ingressClass,
      rules: [
        {
          http: {
            paths: [
              {
                path: "/",
                pathType: "Prefix",
                backend: { service: { name: service, port: { number: 80 } } },
              },
            ],
          },
        },
      ],
    },
  } as Manifest;
}

/** As in: 2026/11/27 06:37:14 [notice] 31#31: *5 [lua] roundrobin.lua:21: reinit(): nodes: 10.0.0.1:8080 10.0.0.2:8080, context: ngx.timer */
const listLine = / (\d+)#\d+: .*\bnodes: ([^,]*)/;
const endLine = / (\d+)#\d+: (gracefully shutting down|exit)$/;

/**
 * The pods to which its workers send. Each worker says when it has taken a new list, and chooses no other pod from then on. A worker that leaves
 * keeps its list until it ends.
 */
async function followLists(
  { cluster, clock, podAt }: IngressNginxOptions,
  pod: string,
): Promise<Disposable & { readonly events: readonly SenderEvent[]; readonly reaches: ReadonlySet<string> }> {
  const events: SenderEvent[] = [];
  const reaches = new Set<string>();
  const byWorker = new Map<string, ReadonlySet<string>>();
  const leaving = new Map<string, number>();
  const place = { node: ingressNode, name: pod, namespace };
  const log = await followLog(cluster, place, "controller", "first", (text, epoch) => {
    const at = clock.fromEpoch(epoch);
    const [, worker, nodes = ""] = listLine.exec(text) ?? [];
    const [, ending, what] = endLine.exec(text) ?? [];
    if (worker !== undefined) {
      const pods = nodes.split(" ").flatMap((node) => podAt(node.slice(0, node.lastIndexOf(":"))) ?? []);
      // Another backend of the same worker has no pods of the app.
      if (pods.length === 0 && nodes.startsWith("127.")) return;
      byWorker.set(worker, new Set(pods));
    } else if (what === "exit" && ending !== undefined) {
      byWorker.delete(ending);
      events.push({ at: leaving.get(ending) ?? at, sender: name, type: "reloaded", until: at });
    } else {
      if (ending !== undefined) leaving.set(ending, at);
      return;
    }
    const now = new Set([...byWorker.values()].flatMap((pods) => [...pods]));
    events.push(...changes(at, name, reaches, now));
    reaches.clear();
    for (const one of now) reaches.add(one);
  });
  return { events, reaches, [Symbol.dispose]: () => log[Symbol.dispose]() };
}
