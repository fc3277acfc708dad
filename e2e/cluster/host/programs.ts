import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ClusterError } from "../errors.ts";
import { findProgram, requireProgram, missingPackages } from "./requirements.ts";
import { attempt, run } from "./run.ts";
import { cacheDirectory } from "./paths.ts";

/** One directory of programs per Go module, and our own two programs in C. */
export interface Programs {
  readonly kubernetes: string;
  readonly runtime: string;
  readonly coredns: string;
  readonly pause: string;
  /** Records what a kubelet does to a container. */
  readonly recorder: string;
}

const sources = join(import.meta.dirname, "..", "go");
const ownSources = join(import.meta.dirname, "..", "images");

async function hashOf(...files: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of files) hash.update(await readFile(file)).update("\0");
  return hash.digest("hex").slice(0, 16);
}

/** Builds into a directory beside and renames at the end, so that an interrupted build is never taken for a finished one. */
async function builtOnce(directory: string, build: (into: string) => Promise<void>): Promise<string> {
  if (existsSync(directory)) return directory;
  const unfinished = `${directory}.${process.pid}`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  try {
    await build(unfinished);
    // Another process may have finished first; its result is the same.
    await rename(unfinished, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return directory;
}

/** Kubernetes reports v0.0.0-master unless its version is stamped in; feature gates and kubectl's skew check read it. */
async function linkerFlags(module: Module, go: string): Promise<string> {
  if (module !== "kubernetes") return "-s -w";
  const version = (
    await run(go, ["list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"], { cwd: join(sources, module) })
  ).trim();
  const minor = version.split(".")[1] ?? "";
  const stamp = "-X k8s.io/component-base/version";
  return `-s -w ${stamp}.gitVersion=${version} ${stamp}.gitMajor=1 ${stamp}.gitMinor=${minor}`;
}

const modules = ["runtime", "kubernetes", "coredns"] as const;
type Module = (typeof modules)[number] | "helm" | "kube-router";

async function directoryOf(module: Module, cache: string): Promise<string> {
  const source = join(sources, module);
  const hash = await hashOf(join(source, "go.mod"), join(source, "go.sum"));
  return join(cache, "programs", `${module}-${hash}`);
}

/** Whether no Go is needed any more. */
async function areBuilt(cache: string): Promise<boolean> {
  for (const module of modules) if (!existsSync(await directoryOf(module, cache))) return false;
  return true;
}

/** Why Go cannot build our modules here, in Go's words; an older one fetches the version that go.mod names, if it may. */
async function goProblem(): Promise<string | undefined> {
  const go = await findProgram("go");
  if (go === undefined) return "no go in PATH";
  const { status, stderr } = await attempt(go, ["env", "GOVERSION"], { cwd: join(sources, "runtime") });
  return status === 0 ? undefined : stderr.trim();
}

async function buildModule(module: Module, cache: string, say: (line: string) => void): Promise<string> {
  const source = join(sources, module);
  return builtOnce(await directoryOf(module, cache), async (into) => {
    const go = await findProgram("go");
    if (go === undefined)
      throw new ClusterError("LAMEDUCK_CLUSTER_NEEDS_GO", `building ${module}`, "no go in PATH");
    say(`building ${module} from its Go modules (minutes the first time, kept in ${cache})`);
    const { status } = await attempt(
      "nice",
      [go, "build", "-buildvcs=false", "-ldflags", await linkerFlags(module, go), "-o", `${into}/`, "tool"],
      { cwd: source, environment: { CGO_ENABLED: "0" }, showProgress: true },
    );
    if (status !== 0)
      throw new ClusterError("LAMEDUCK_CLUSTER_BUILD_FAILED", module, `go build ended with ${status}`);
    // etcd's main package is called "server".
    if (module === "kubernetes") await rename(join(into, "server"), join(into, "etcd"));
  });
}

/** Static, so that each is an image by itself. */
export async function compile(name: string, cache: string): Promise<string> {
  const source = join(ownSources, `${name}.c`);
  const directory = join(cache, "programs", `${name}-${await hashOf(source)}`);
  await builtOnce(directory, async (into) => {
    const gcc = await requireProgram("gcc");
    await run(gcc, [
      "-static",
      "-Os",
      "-s",
      "-Wall",
      "-Wextra",
      "-Werror",
      "-o",
      join(into, name),
      source,
      "-lm",
    ]);
  });
  return join(directory, name);
}

/** Helm, which no cluster needs to run: only the tests of our chart ask for it. @returns its path. */
export async function buildHelm(cache: string, say: (line: string) => void): Promise<string> {
  return join(await buildModule("helm", cache, say), "helm");
}

/** kube-router, which only a cluster that enforces NetworkPolicies runs. @returns its path. */
export async function buildKubeRouter(cache: string, say: (line: string) => void): Promise<string> {
  return join(await buildModule("kube-router", cache, say), "kube-router");
}

/** Every program of the cluster, built at most once per content of go.mod and go.sum. */
export async function buildPrograms(cache: string, say: (line: string) => void): Promise<Programs> {
  const pause = await compile("pause", cache);
  const recorder = await compile("recorder", cache);
  // One after the other: each build alone fills the machine.
  const runtime = await buildModule("runtime", cache, say);
  const kubernetes = await buildModule("kubernetes", cache, say);
  const coredns = await buildModule("coredns", cache, say);
  return { kubernetes, runtime, coredns, pause, recorder };
}

/** Why this machine cannot run the cluster, in one line; undefined when it can. For tests that must say why they did not run. */
export async function whyNot(): Promise<string | undefined> {
  if (process.platform !== "linux") return "the test cluster needs Linux";
  if (process.getuid?.() !== 0) return "the test cluster needs root (namespaces, mounts and cgroups)";
  const missing = await missingPackages();
  if (missing.length > 0 && (await findProgram("apt-get")) === undefined)
    return `the test cluster needs ${missing.join(", ")}, and there is no apt-get to install them`;
  // Root in a container is often root without CAP_SYS_ADMIN. util-linux, which has unshare, is part of every distribution.
  const tried = await attempt("unshare", ["--mount", "--net", "--pid", "--fork", "--mount-proc", "true"]);
  if (tried.status !== 0) return `the test cluster needs namespaces: ${tried.stderr.trim()}`;
  if (await areBuilt(cacheDirectory())) return undefined;
  const problem = await goProblem();
  return problem === undefined ? undefined : `the test cluster needs Go 1.26 (https://go.dev/dl): ${problem}`;
}
