import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { injectedAnnotation, injectLabel, operatorNames } from "@lameduck/protocol";
import { defaultRepository, writeOperatorImage } from "@lameduck/operator/image";
import { cacheDirectory } from "../cluster/host/paths.ts";
import { buildHelm } from "../cluster/host/programs.ts";
import { until, type Cluster } from "../cluster/index.ts";

const root = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
export const chart = join(root, "packages", "operator", "chart", "lameduck");
const program = join(root, "packages", "cli", "bin", "lameduck.js");
const execute = promisify(execFile);

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command as a person would run it against this cluster. It may end with any code. */
export async function lameduck(cluster: Cluster, ...args: readonly string[]): Promise<CommandResult> {
  // No release is published: the nodes have what `deliverImage` loads.
  const named =
    args[0] === "install" && !args.includes("--image") ? ["--image", `${defaultRepository}:${version}`] : [];
  const command = [program, ...args, ...named, "--kubeconfig", cluster.kubeconfig];
  try {
    const { stdout, stderr } = await execute(process.execPath, command);
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}

/** The same, and it must end well. */
export async function lameduckDoes(cluster: Cluster, ...args: readonly string[]): Promise<CommandResult> {
  const result = await lameduck(cluster, ...args);
  if (result.code !== 0)
    throw new Error(`lameduck ${args.join(" ")} ended with ${result.code}: ${result.err}`);
  return result;
}

export async function helm(cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const path = await buildHelm(cacheDirectory(), () => undefined);
  const home = join(cluster.directory, "helm");
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
  };
  const { stdout } = await execute(path, args, { env: { ...env, HELM_DATA_HOME: home } });
  return stdout;
}

/** Puts the operator's image, as it is built here, onto every node. */
export async function deliverImage(cluster: Cluster): Promise<void> {
  const processor = process.arch === "arm64" ? "arm64" : "x64";
  await cluster.loadImage((file) => writeOperatorImage(file, { processors: [processor], compress: false }));
}

/** One of docs/install*.yaml, with the image that `deliverImage` loads. */
export async function publishedManifest(name: string): Promise<string> {
  const text = await readFile(join(root, "docs", name), "utf8");
  return text.replaceAll(/^( *image: )\S+$/gm, `$1${defaultRepository}:${version}`);
}

/** Nothing, the webhook, or the policy alone. */
export const ways = ["none", "webhook", "policy"] as const;
export type Way = (typeof ways)[number];

/** Leaves the cluster with this way of injecting into the default namespace, and no other; as new, whatever was done to it before. */
export async function installed(cluster: Cluster, way: Way): Promise<void> {
  await withoutHelm(cluster);
  if (way === "none") await lameduckDoes(cluster, "uninstall", "--yes");
  else if (way === "webhook")
    await lameduckDoes(cluster, "install", "--yes", "--enable", "default", "--disable", "policy-only");
  else await lameduckDoes(cluster, "install", "--yes", "--policy-only", "--enable", "default");
}

/** The same from the chart. @param values of it, as "key=value". */
export async function installedByHelm(cluster: Cluster, ...values: readonly string[]): Promise<void> {
  await withoutHelm(cluster);
  await lameduckDoes(cluster, "uninstall", "--yes");
  const { namespace } = operatorNames;
  // Nothing can be made in a namespace that is being deleted; and `uninstall` leaves the one that Helm has made.
  await cluster.kubectl(["delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s"]);
  const set = values.flatMap((value) => ["--set", value]);
  await helm(cluster, "install", "lameduck", chart, "-n", namespace, "--create-namespace", "--wait", ...set);
  await cluster.kubectl(["label", "namespace", "default", `${injectLabel}=enabled`, "--overwrite"]);
}

async function withoutHelm(cluster: Cluster): Promise<void> {
  const releases = await helm(cluster, "list", "-n", operatorNames.namespace, "-q");
  if (releases.trim() !== "")
    await helm(cluster, "uninstall", releases.trim(), "-n", operatorNames.namespace);
}

/** New pods of the default namespace are injected, and find what they mount; `lameduck install` has waited for it, Helm has not. */
export async function injects(cluster: Cluster, way: Way): Promise<void> {
  if (way === "none") return;
  const { namespace, workload } = operatorNames;
  if (way === "webhook")
    await cluster.kubectl(["rollout", "status", `deployment/${workload}`, "-n", namespace, "--timeout=120s"]);
  const seen = async (): Promise<boolean> => {
    const { trials, namespaces } = JSON.parse(
      (await lameduck(cluster, "status", "--json", "-")).out,
    ) as StatusRead;
    const ours = trials.filter(({ by }) => by === way);
    return (
      ours.length > 0 &&
      ours.every((one) => one.asked > 0 && one.seen === one.asked) &&
      namespaces.some(({ name, initVolume }) => name === "default" && initVolume === "usable")
    );
  };
  await until(seen, { what: `lameduck status to see injection by ${way}`, timeoutMs: 120_000 });
}

interface StatusRead {
  readonly trials: readonly { readonly by: Way; readonly asked: number; readonly seen: number }[];
  readonly namespaces: readonly { readonly name: string; readonly initVolume: string }[];
}

interface Made {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

export const isInjected = ({ metadata }: Made): boolean =>
  metadata.annotations?.[injectedAnnotation] !== undefined;

/** What admission makes of a pod; admission cannot tell a dry run. */
export function madePod(cluster: Cluster, namespace: string): Promise<Made> {
  return cluster.api.post<Made>(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, {
    metadata: { generateName: "asked-" },
    spec: { containers: [{ name: "web", image: "lameduck.test/none:1", ports: [{ containerPort: 8080 }] }] },
  });
}

/** The same of a Deployment with an annotation of ours, which the webhook validates. */
export function madeDeployment(cluster: Cluster, namespace: string): Promise<Made> {
  const labels = { app: "asked" };
  const annotations = { "lameduck.dev/cap": "20s" };
  const containers = [{ name: "web", image: "lameduck.test/none:1" }];
  return cluster.api.post<Made>(`/apis/apps/v1/namespaces/${namespace}/deployments?dryRun=All`, {
    metadata: { generateName: "asked-" },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: { containers } },
    },
  });
}
