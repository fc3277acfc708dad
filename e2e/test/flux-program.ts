import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { run } from "../cluster/host/run.ts";
import type { KubernetesObject } from "@lameduck/kube";
import { fabricAddress } from "../cluster/network/addresses.ts";
import { prepareFlux, until, writeImage, type Cluster } from "../cluster/index.ts";
import { say } from "../program.ts";
import { apply, serveInFabric } from "./support.ts";

const namespace = "kustomize-system";
const port = 18_090;

/** A rule of a Kustomization: what Git does not decide. */
export interface Ignore {
  readonly target: Readonly<Record<string, string>>;
  readonly paths: readonly string[];
}

/**
 * Flux's kustomize-controller and helm-controller in a cluster. Flux's source controller does not run. The test serves both controllers an
 * ExternalArtifact from a folder instead.
 */
export class Flux {
  readonly #cluster: Cluster;
  readonly #folder: string;
  readonly #server: AbortController;

  private constructor(cluster: Cluster, folder: string, server: AbortController) {
    this.#cluster = cluster;
    this.#folder = folder;
    this.#server = server;
  }

  /** As their own kustomizations install them, but with our images of the same programs. */
  static async on(cluster: Cluster): Promise<Flux> {
    const { controllers, sourceCrds } = await prepareFlux(say);
    const folder = await mkdtemp(join(cluster.directory, "flux-"));
    await cluster.kubectl(["apply", "--server-side", "-f", sourceCrds]);
    await cluster.kubectl(["create", "namespace", namespace]);
    for (const { name, image, config } of controllers) {
      await cluster.loadImage((file) => writeImage(image, file));
      const overlay = {
        apiVersion: "kustomize.config.k8s.io/v1beta1",
        kind: "Kustomization",
        namespace,
        resources: ["crd", "rbac", "manager"].map((part) => relative(folder, join(config, part))),
        images: [{ name: `fluxcd/${name}`, newName: `lameduck.test/${name}`, newTag: "1" }],
        patches: [{ target: { kind: "Deployment" }, patch: JSON.stringify(ourSettings) }],
      };
      await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(overlay));
      const rendered = await cluster.kubectl(["kustomize", folder]);
      await cluster.kubectl(["apply", "--server-side", "-f", "-"], rendered);
    }
    for (const { name } of controllers)
      await cluster.kubectl(["rollout", "status", `deployment/${name}`, "-n", namespace, "--timeout=90s"]);
    return new Flux(cluster, folder, serveInFabric(cluster, fileServer(folder)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.abort();
    await rm(this.#folder, { recursive: true });
  }

  /** Applies what Git holds, again and again from now on. */
  async follows(name: string, ignore: readonly Ignore[] = []): Promise<void> {
    await apply(this.#cluster, {
      apiVersion: "kustomize.toolkit.fluxcd.io/v1",
      kind: "Kustomization",
      metadata: { name, namespace },
      spec: {
        interval: "10m",
        retryInterval: "2s",
        path: "./",
        prune: true,
        wait: true,
        timeout: "2m",
        sourceRef: { kind: "ExternalArtifact", name },
        ...(ignore.length === 0 ? {} : { ignore }),
      },
    });
  }

  /** A new commit. @returns once it is applied and everything in it is ready. */
  async commits(name: string, revision: string, files: Readonly<Record<string, string>>): Promise<void> {
    const tree = join(this.#folder, `${name}-${revision}`);
    await mkdir(tree);
    for (const [file, text] of Object.entries(files)) await writeFile(join(tree, file), text);
    const archive = `${tree}.tar.gz`;
    await run("tar", ["-czf", archive, "-C", tree, ...Object.keys(files)]);
    await this.#fetched(name, revision, archive);
    await this.#settled("kustomization", name, ({ status }) => status?.lastAppliedRevision === revision);
  }

  /** Has Helm install a packaged chart, or upgrade to it. @returns once everything in it is ready. */
  async releases(name: string, version: string, archive: string, spec: object): Promise<void> {
    const served = join(this.#folder, `${name}-${version}.tgz`);
    await copyFile(archive, served);
    await this.#fetched(name, version, served);
    await apply(this.#cluster, {
      apiVersion: "helm.toolkit.fluxcd.io/v2",
      kind: "HelmRelease",
      metadata: { name, namespace },
      spec: { interval: "10m", timeout: "2m", chartRef: { kind: "ExternalArtifact", name }, ...spec },
    });
    await this.#settled("helmrelease", name, ({ metadata, status }) => {
      const isSeen = status?.observedGeneration === metadata.generation;
      return isSeen && status?.lastAttemptedRevision === version;
    });
  }

  /** Tells the controllers what the source controller would have fetched. */
  async #fetched(name: string, revision: string, archive: string): Promise<void> {
    const url = `http://${fabricAddress}:${port}/${basename(archive)}`;
    const digest = createHash("sha256")
      .update(await readFile(archive))
      .digest("hex");
    const artifact = {
      apiVersion: "source.toolkit.fluxcd.io/v1",
      kind: "ExternalArtifact",
      metadata: { name, namespace },
    };
    const now = new Date().toISOString().replace(/\.\d+Z/, "Z");
    const status = {
      artifact: { url, path: url, revision, digest: `sha256:${digest}`, lastUpdateTime: now },
      conditions: [
        { type: "Ready", status: "True", reason: "Succeeded", message: "", lastTransitionTime: now },
      ],
    };
    await apply(this.#cluster, artifact);
    await this.#patch("externalartifacts", name, { status }, "--subresource=status");
  }

  /** Compares everything with its source once more. @returns what it has found to differ, and what it has changed. */
  async reconciles(name: string, kind: Kind = "kustomization"): Promise<string[]> {
    const before = await this.#told(name);
    const asked = String(Date.now());
    const annotations = { "reconcile.fluxcd.io/requestedAt": asked };
    await this.#patch(kind, name, { metadata: { annotations } });
    await this.#settled(kind, name, ({ status }) => status?.lastHandledReconcileAt === asked);
    const after = await this.#told(name);
    return [...after]
      .filter(([message, times]) => times > (before.get(message) ?? 0))
      .map(([message]) => message)
      .filter((message) => / (configured|created|deleted)$| has (drifted|been corrected)/m.test(message));
  }

  /** What it says of its work, and how often. */
  async #told(name: string): Promise<ReadonlyMap<string, number>> {
    const path = `/api/v1/namespaces/${namespace}/events`;
    const all = await this.#cluster.api.list<KubernetesObject & Told>(path);
    const own = all.filter(({ involvedObject }) => involvedObject.name === name);
    return new Map(own.map(({ message, count = 1 }) => [message, count]));
  }

  #patch(kind: string, name: string, change: object, ...more: readonly string[]): Promise<string> {
    const what = [kind, name, "-n", namespace, "--type=merge", "-p", JSON.stringify(change)];
    return this.#cluster.kubectl(["patch", ...what, ...more]);
  }

  async #settled(kind: Kind, name: string, isDone: (object: Applied) => boolean): Promise<void> {
    let seen = "";
    const ready = async (): Promise<boolean> => {
      seen = await this.#cluster.kubectl(["get", kind, name, "-n", namespace, "-o", "json"]);
      const object = JSON.parse(seen) as Applied;
      const conditions = object.status?.conditions ?? [];
      return isDone(object) && conditions.some((one) => one.type === "Ready" && one.status === "True");
    };
    await until(ready, { what: `Flux to apply ${name}`, timeoutMs: 180_000 }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${seen}`);
    });
  }
}

type Kind = "kustomization" | "helmrelease";

interface Applied {
  readonly metadata: { readonly generation?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly lastAppliedRevision?: string;
    readonly lastAttemptedRevision?: string;
    readonly lastHandledReconcileAt?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface Told {
  readonly involvedObject: { readonly name: string };
  readonly message: string;
  readonly count?: number;
}

const container = "/spec/template/spec/containers/0";
const ourSettings = [
  // The user of their own images.
  { op: "add", path: `${container}/securityContext/runAsUser`, value: 65_534 },
  { op: "add", path: `${container}/args/-`, value: "--feature-gates=ExternalArtifact=true" },
];

/** A program that serves the files of a folder. */
function fileServer(folder: string): string[] {
  const own = pathToFileURL(import.meta.filename).href;
  const script = `(await import(${JSON.stringify(own)})).serveFiles(${JSON.stringify(folder)})`;
  return [process.execPath, "--input-type=module", "-e", script];
}

/** In the process that `fileServer` names. */
export function serveFiles(folder: string): void {
  const server = createServer((request, response) => {
    const name = /^\/([\w.-]+\.t(?:ar\.)?gz)$/.exec(request.url ?? "")?.[1];
    if (name === undefined) return void response.writeHead(404).end();
    readFile(join(folder, name)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  });
  server.listen(port, fabricAddress);
}
