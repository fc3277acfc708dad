import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import { run } from "../cluster/host/run.ts";
import {
  argoCdImage,
  argoCdPath,
  prepareArgoCd,
  redisImage,
  until,
  writeImage,
  type Cluster,
  type Manifest,
} from "../cluster/index.ts";
import { fabricAddress } from "../cluster/network/addresses.ts";
import { say } from "../program.ts";
import { apply, serveInFabric } from "./support.ts";

const namespace = "argocd";
const port = 9418;
/** The user of Redis' own image, and of Argo CD's. */
const user = 999;

/** What an Application takes from Git, and where to. */
export interface Followed {
  readonly path: string;
  readonly destination: string;
  readonly helm?: object;
  readonly ignoreDifferences?: readonly object[];
}

interface Application {
  readonly status?: {
    readonly reconciledAt?: string;
    readonly sync?: { readonly status: string; readonly revision?: string };
    readonly health?: { readonly status?: string };
    readonly operationState?: { readonly phase: string };
    readonly history?: readonly object[];
    readonly resources?: readonly {
      readonly kind: string;
      readonly name: string;
      readonly status?: string;
    }[];
  };
}

/** Argo CD in a cluster, without its user interface and its ApplicationSets, and the Git repository that it follows. */
export class ArgoCd {
  readonly #cluster: Cluster;
  readonly #repository: string;
  readonly #server: AbortController;

  private constructor(cluster: Cluster, repository: string, server: AbortController) {
    this.#cluster = cluster;
    this.#repository = repository;
    this.#server = server;
  }

  /** As its own core installation, but with our images of the same programs. */
  static async on(cluster: Cluster): Promise<ArgoCd> {
    const { images, manifests } = await prepareArgoCd(say);
    for (const image of images) await cluster.loadImage((file) => writeImage(image, file));
    const objects = parseAllDocuments(await readFile(manifests, "utf8"))
      .map((document) => document.toJS() as Manifest)
      .filter(({ kind, metadata }) => !(kind === "Deployment" && isOfApplicationSets(metadata)));
    await cluster.kubectl(["create", "namespace", namespace]);
    await cluster.kubectl(
      ["apply", "-n", namespace, "--server-side", "-f", "-"],
      objects.map((one) => JSON.stringify(withOurImages(one))).join("\n---\n"),
    );
    for (const workload of [
      "deployment/argocd-redis",
      "deployment/argocd-repo-server",
      "statefulset/argocd-application-controller",
    ])
      await cluster.kubectl(["rollout", "status", workload, "-n", namespace, "--timeout=120s"]);
    // Its server makes this project, and does not run here.
    const everything = {
      sourceRepos: ["*"],
      destinations: [{ namespace: "*", server: "*" }],
      clusterResourceWhitelist: [{ group: "*", kind: "*" }],
    };
    await apply(cluster, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata: { name: "default", namespace },
      spec: everything,
    });
    const repository = await mkdtemp(join(cluster.directory, "argo-cd-"));
    await run("git", ["init", "-q", "-b", "main", repository]);
    return new ArgoCd(cluster, repository, serveInFabric(cluster, gitServer(repository)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.abort();
    await rm(this.#repository, { recursive: true });
  }

  /** Puts a folder into the working tree; `commits` makes it known. */
  async adds(folder: string, path: string): Promise<void> {
    await cp(folder, join(this.#repository, path), { recursive: true });
  }

  async commits(message: string, files: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const file = join(this.#repository, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    await this.#git("add", "--all");
    await this.#git(
      "-c",
      "user.name=test",
      "-c",
      "user.email=test@lameduck.test",
      "commit",
      "-q",
      "-m",
      message,
    );
  }

  /** Applies what Git holds from now on, and puts right whatever differs. @returns once all of it is applied and healthy. */
  async follows(name: string, { path, destination, helm, ignoreDifferences = [] }: Followed): Promise<void> {
    const finalizers = ["resources-finalizer.argocd.argoproj.io"];
    const metadata = { name, namespace, finalizers };
    await apply(this.#cluster, {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Application",
      metadata,
      spec: {
        project: "default",
        source: {
          repoURL: `git://${fabricAddress}:${port}/`,
          targetRevision: "main",
          path,
          ...(helm === undefined ? {} : { helm }),
        },
        destination: { server: "https://kubernetes.default.svc", namespace: destination },
        ignoreDifferences,
        syncPolicy: {
          automated: { prune: true, selfHeal: true },
          syncOptions: ["ServerSideApply=true", "RespectIgnoreDifferences=true", "CreateNamespace=true"],
        },
      },
    });
    await this.syncs(name);
  }

  /** Has it look at Git now. @returns once what it finds there is applied and healthy. */
  async syncs(name: string): Promise<void> {
    const head = (await this.#git("rev-parse", "HEAD")).trim();
    await this.#refreshed(name);
    let seen: Application = {};
    const isDone = async (): Promise<boolean> => {
      seen = await this.#application(name);
      const { sync, health, operationState } = seen.status ?? {};
      const isApplied = sync?.status === "Synced" && sync.revision === head;
      return isApplied && health?.status === "Healthy" && operationState?.phase === "Succeeded";
    };
    await until(isDone, { what: `Argo CD to apply ${name}`, timeoutMs: 240_000 }).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(seen.status)}`);
    });
  }

  /** Compares everything with Git once more. @returns what differs, and how often it has applied something so far. */
  async compares(name: string): Promise<{ readonly differing: readonly string[]; readonly syncs: number }> {
    await this.#refreshed(name);
    const { history = [], resources = [] } = (await this.#application(name)).status ?? {};
    const differing = resources.filter(({ status = "Synced" }) => status !== "Synced");
    return { differing: differing.map(({ kind, name: own }) => `${kind} ${own}`), syncs: history.length };
  }

  async #application(name: string): Promise<Application> {
    return JSON.parse(
      await this.#cluster.kubectl(["get", "application", name, "-n", namespace, "-o", "json"]),
    ) as Application;
  }

  /** It removes the annotation once it has compared. */
  async #refreshed(name: string): Promise<void> {
    const key = "argocd.argoproj.io/refresh";
    await this.#cluster.kubectl([
      "annotate",
      "application",
      name,
      "-n",
      namespace,
      `${key}=hard`,
      "--overwrite",
    ]);
    const isOver = async (): Promise<boolean> =>
      !JSON.stringify(await this.#application(name)).includes(`"${key}"`);
    await until(isOver, { what: `Argo CD to compare ${name}`, timeoutMs: 120_000 });
  }

  #git(...args: readonly string[]): Promise<string> {
    return run("git", args, { cwd: this.#repository });
  }
}

const isOfApplicationSets = (metadata: unknown): boolean =>
  (metadata as { name: string }).name === "argocd-applicationset-controller";

interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly object[];
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly securityContext?: object;
}

function withOurImages(object: Manifest): Manifest {
  if (!["Deployment", "StatefulSet"].includes(String(object.kind))) return object;
  const spec = object["spec"] as { template: { metadata: object; spec: PodSpec } };
  const { containers, initContainers = [], ...rest } = spec.template.spec;
  const pod = {
    ...rest,
    securityContext: { ...rest.securityContext, runAsUser: user },
    containers: containers.map(withOurImage),
    // The other one brings plugins, and there are none.
    initContainers: initContainers.filter(({ command }) => command?.[0] === "argocd").map(withOurImage),
  };
  return { ...object, spec: { ...spec, template: { ...spec.template, spec: pod } } };
}

/** Argo CD is one program that looks at its name. Its own image has a link for each of them. */
function withOurImage(container: Container): object {
  const { image, args = [], command, env = [] } = container;
  const common = { ...container, imagePullPolicy: "IfNotPresent" };
  if (image.includes("redis")) return { ...common, image: redisImage };
  const [called = "", ...more] = command ?? args;
  const name = called.slice(called.lastIndexOf("/") + 1);
  const settings = [
    { name: "ARGOCD_BINARY_NAME", value: name },
    { name: "ARGOCD_GPG_ENABLED", value: "false" },
  ];
  return {
    ...common,
    image: argoCdImage,
    command: [argoCdPath, ...more],
    args: [],
    env: [...env.filter(isNotGpg), ...settings],
  };
}

const isNotGpg = (one: object): boolean => (one as { name: string }).name !== "ARGOCD_GPG_ENABLED";

const gitServer = (repository: string): string[] => [
  "git",
  "daemon",
  "--export-all",
  `--base-path=${repository}`,
  `--listen=${fabricAddress}`,
  `--port=${port}`,
  "--reuseaddr",
  repository,
];
