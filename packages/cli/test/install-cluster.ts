import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultImage } from "../src/about.ts";
import { run, type Ended } from "./running.ts";

const dist = join(import.meta.dirname, "..", "..", "init", "dist");
export const withoutInit =
  !["x64", "arm64"].every((arch) => existsSync(join(dist, `lameduck-init-${arch}`))) &&
  "lameduck-init is not built: npm run build:init";

export const enabled = { "lameduck.dev/inject": "enabled" };
export const initVolume = "/api/v1/namespaces/shop/configmaps/lameduck-init";

export interface Stored {
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

const missing: [number, unknown] = [
  404,
  { kind: "Status", status: "Failure", reason: "NotFound", message: "none" },
];
/** Groups that every API server has, besides the core. */
const builtIn = ["apps", "networking.k8s.io", "lameduck.dev", "coordination.k8s.io"];
const isCollection = (path: string): boolean =>
  /(namespaces|leases|pods|deployments|services|nodes|configmaps|drainpolicies|drainreports|networkpolicies|events|admissionpolicies|admissionpolicybindings)$/.test(
    path,
  );

/** As much of an API server as installing needs: objects by their path. */
export class Cluster {
  readonly objects = new Map<string, Stored>();
  minor = "36";
  /** Of the operator, as soon as it is deployed. */
  isReady = true;
  changes: string[] = [];
  /** Called with the path of each object that is deleted. */
  onDelete: (path: string) => void = () => undefined;
  /** Of each API server, which take turns: how many pods it admits before it applies what injects. */
  lags: number[] = [0];
  /** What it answers a probe with until then. */
  former: string | undefined;
  /** Paths that the caller has no right to. */
  forbidden: RegExp | undefined;
  /** Why pods are refused. */
  refusal: string | undefined;
  /** API groups that are installed besides, each with its version. */
  installed: Record<string, string> = {};
  /** What becomes of pods that are made as a dry run, besides probes: its changed form, or why it is refused. */
  admits: (pod: Stored) => Stored | string = (pod) => pod;
  /** Answers of kubelets about their settings, by node. */
  kubelets: Record<string, object> = {};
  /** Connections by which dry runs have come. */
  readonly dryRunsBy = new Map<unknown, number>();
  readonly #folder = mkdtempSync(join(tmpdir(), "lameduck-install-"));
  readonly #server = createServer((request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes));
    request.on("end", () => {
      const [status, answer] = this.answer(request, body);
      const send = (): unknown =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
      setTimeout(send, this.delayMs(request.url ?? "/"));
    });
  });

  /** How long an answer takes. */
  delayMs: (path: string) => number = () => 0;

  /** Connections that were made to it. */
  connections = 0;

  async start(): Promise<void> {
    this.#server.on("connection", () => this.connections++);
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const { port } = this.#server.address() as AddressInfo;
    const kubeconfig = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: "u", user: { token: "t" } }],
    };
    writeFileSync(join(this.#folder, "kubeconfig"), JSON.stringify(kubeconfig));
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
    rmSync(this.#folder, { recursive: true });
  }

  /** As at the beginning, with one namespace. */
  empty(): void {
    this.objects.clear();
    this.minor = "36";
    this.isReady = true;
    this.changes = [];
    this.onDelete = () => undefined;
    this.lags = [0];
    this.former = undefined;
    this.refusal = undefined;
    this.forbidden = undefined;
    this.installed = {};
    this.admits = (pod) => pod;
    this.kubelets = {};
    this.delayMs = () => 0;
    this.dryRunsBy.clear();
    this.put("/api/v1/namespaces/shop", { kind: "Namespace", metadata: {} });
  }

  /** The command `lameduck` with access to it. */
  lameduck(...args: readonly string[]): Promise<Ended> {
    const isThere = [...this.objects.keys()].some((path) => path.endsWith("/deployments/lameduck-webhook"));
    // As long as no image is published, a first installation names one.
    const isLeftOut = args[0] === "install" && !args.includes("--image") && !isThere;
    return this.asTyped(...args, ...(isLeftOut ? ["--image", defaultImage()] : []));
  }

  /** The same, and nothing is added. */
  asTyped(...args: readonly string[]): Promise<Ended> {
    return run([...args, "--kubeconfig", join(this.#folder, "kubeconfig")]);
  }

  answer(request: IncomingMessage, body: string): [status: number, answer: unknown] {
    const url = new URL(request.url ?? "/", "http://cluster");
    const path = url.pathname;
    if (this.forbidden?.test(path))
      return [403, { kind: "Status", status: "Failure", reason: "Forbidden", message: `no right: ${path}` }];
    if (path === "/version") return [200, { major: "1", minor: this.minor }];
    if (path === "/apis") return [200, { groups: this.#groups() }];
    const group = /^\/apis\/([^/]+)$/.exec(path)?.[1];
    if (group !== undefined) {
      const found = this.#groups().find(({ name }) => name === group);
      return found ? [200, found] : missing;
    }
    const kubelet = this.kubelets[/^\/api\/v1\/nodes\/([^/]+)\/proxy\/configz$/.exec(path)?.[1] ?? ""];
    if (kubelet) return [200, { kubeletconfig: kubelet }];
    const isDry = url.searchParams.get("dryRun") === "All";
    if (isDry && request.method === "PATCH") {
      const before = this.objects.get(path);
      const answer = this.#patch(path, JSON.parse(body) as Stored);
      if (before) this.objects.set(path, before);
      else this.objects.delete(path);
      return answer;
    }
    if (isDry) {
      this.dryRunsBy.set(request.socket, (this.dryRunsBy.get(request.socket) ?? 0) + 1);
      return this.#admit(path.split("/")[4] ?? "", JSON.parse(body) as Stored);
    }
    if (request.method !== "GET") this.changes.push(`${request.method} ${path}`);
    if (request.method === "PATCH") return this.#patch(path, JSON.parse(body) as Stored);
    if (request.method === "DELETE") {
      this.onDelete(path);
      return this.objects.delete(path) ? [200, { kind: "Status" }] : missing;
    }
    const object = this.objects.get(path);
    // It has gone when it is looked for again.
    if (object?.metadata["deletionTimestamp"] !== undefined) this.objects.delete(path);
    if (object) return [200, object];
    return isCollection(path) || this.#isServed(path)
      ? [200, { metadata: { resourceVersion: "1" }, items: this.#list(path, url.searchParams) }]
      : missing;
  }

  /** A list of a group that is there. */
  #isServed(path: string): boolean {
    const [, group, version] = /^\/apis\/([^/]+)\/([^/]+)\/[^/]+$/.exec(path) ?? [];
    return (
      /^\/api\/v1\/[^/]+$/.test(path) ||
      this.#groups().some((one) => one.name === group && one.versions[0]?.version === version)
    );
  }

  #groups(): { name: string; versions: { version: string }[]; preferredVersion: { version: string } }[] {
    const all = [
      ...builtIn.map((name) => [name, name === "lameduck.dev" ? "v1alpha1" : "v1"] as const),
      ...Object.entries(this.installed),
    ];
    return all.map(([name, version]) => ({ name, versions: [{ version }], preferredVersion: { version } }));
  }

  put(path: string, object: Omit<Stored, "metadata"> & { metadata: object }): void {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const namespace = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    this.objects.set(path, {
      ...object,
      metadata: {
        uid: path,
        resourceVersion: "1",
        name,
        ...(namespace ? { namespace } : {}),
        ...object.metadata,
      },
    } as Stored);
  }

  addPod(
    name: string,
    pod: { annotations?: object; lifecycle?: object; grace?: number; mounts?: string } = {},
  ): void {
    const { annotations = {}, lifecycle, grace = 30, mounts } = pod;
    this.put(`/api/v1/namespaces/shop/pods/${name}`, {
      kind: "Pod",
      metadata: { labels: { app: "web" }, annotations },
      spec: {
        terminationGracePeriodSeconds: grace,
        volumes: mounts === undefined ? [] : [{ name: "mounted", configMap: { name: mounts } }],
        containers: [{ name: "web", image: "web:1", ports: [{ containerPort: 80 }], lifecycle }],
      },
      status: { phase: "Running" },
    });
  }

  /** What becomes of a pod that asks who has seen it. */
  #admit(namespace: string, pod: Stored): [number, unknown] {
    if (this.refusal !== undefined)
      return [403, { kind: "Status", status: "Failure", reason: "Forbidden", message: this.refusal }];
    const annotations = (pod.metadata["annotations"] ?? {}) as Record<string, string>;
    if (annotations["lameduck.dev/probe"] === undefined) {
      const admitted = this.admits(structuredClone(pod));
      return typeof admitted === "string"
        ? [403, { kind: "Status", status: "Failure", reason: "Forbidden", message: admitted }]
        : [201, { ...admitted, metadata: { ...admitted.metadata, name: "dry", uid: "dry" } }];
    }
    const server = [...this.dryRunsBy.values()].reduce((sum, one) => sum + one, 0) % this.lags.length;
    const labels = this.objects.get(`/api/v1/namespaces/${namespace}`)?.metadata["labels"];
    if ((labels as typeof enabled | undefined)?.["lameduck.dev/inject"] !== "enabled")
      throw new Error(`a probe in namespace ${namespace}, which has no label`);
    const lag = this.lags[server] ?? 0;
    this.lags[server] = lag - 1;
    const by = annotations["lameduck.dev/probe"];
    const revision = by === "policy" ? this.#revisionFor(namespace) : this.#webhookVersion();
    const answer = lag <= 0 ? revision : this.former;
    if (answer !== undefined) annotations["lameduck.dev/probe"] = answer;
    return [201, pod];
  }

  #revisionFor(namespace: string): string | undefined {
    const policies = [...this.objects.values()].filter(({ kind }) => kind === "MutatingAdmissionPolicy");
    const own = policies.find(({ metadata }) => metadata.name.endsWith(`.${namespace}`));
    const { spec } = (own ?? policies[0] ?? {}) as { spec?: { variables: { expression: string }[] } };
    const [first] = spec?.variables ?? [];
    return first && (JSON.parse(first.expression) as string);
  }

  #webhookVersion(): string | undefined {
    const all = [...this.objects.values()];
    return all.some(({ kind }) => kind === "MutatingWebhookConfiguration") ? "0.1.0" : undefined;
  }

  #patch(path: string, given: Stored): [number, unknown] {
    const before = this.objects.get(path);
    // Labels of namespaces are merged, everything else is applied.
    if (given.kind === undefined) {
      if (before === undefined) return missing;
      const labels = { ...(before.metadata["labels"] as object), ...(given.metadata["labels"] as object) };
      const kept = Object.entries(labels).filter(([, value]) => value !== null);
      this.put(path, { ...before, metadata: { ...before.metadata, labels: Object.fromEntries(kept) } });
      return [200, this.objects.get(path)];
    }
    const same = JSON.stringify(before?.["applied"]) === JSON.stringify(given);
    const version = Number(before?.metadata.resourceVersion ?? 0) + (same ? 0 : 1);
    const available = this.isReady ? 2 : 0;
    const status =
      given.kind === "Deployment"
        ? { updatedReplicas: 2, availableReplicas: available }
        : given.kind === "DaemonSet"
          ? { desiredNumberScheduled: 5, numberAvailable: 5 }
          : {};
    const metadata = { ...given.metadata, resourceVersion: String(version) };
    this.put(path, { ...given, metadata, status, applied: given });
    return [before ? 200 : 201, this.objects.get(path)];
  }

  #list(path: string, query: URLSearchParams): Stored[] {
    const plural = path.slice(path.lastIndexOf("/") + 1);
    const within = /\/namespaces\/([^/]+)\//.exec(path)?.[1];
    const selectors = (query.get("labelSelector") ?? "").split(",").map((one) => one.split("="));
    return [...this.objects].flatMap(([own, object]) => {
      const isOfKind = own.split("/").at(-2) === plural;
      const labels = (object.metadata["labels"] ?? {}) as Record<string, string>;
      const isSelected = selectors.every(([key = "", value]) =>
        value === undefined ? key === "" || key in labels : labels[key] === value,
      );
      const name = /metadata\.name=(.+)/.exec(query.get("fieldSelector") ?? "")?.[1];
      return isOfKind &&
        isSelected &&
        (within === undefined || object.metadata.namespace === within) &&
        (name === undefined || object.metadata.name === name)
        ? [object]
        : [];
    });
  }
}
