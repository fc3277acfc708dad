import { existsSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ClusterError } from "../errors.ts";
import type { Programs } from "../host/programs.ts";
import { findProgram, requireProgram } from "../host/requirements.ts";
import { run } from "../host/run.ts";
import type { Image, ImageFile, Layer } from "./image.ts";
import { inside } from "../../../scripts/pack/workspace.ts";

export const pauseImage = "lameduck.test/pause:1";
export const nodeImage = "lameduck.test/node:1";
export const recorderImage = "lameduck.test/recorder:1";
export const haproxyImage = "lameduck.test/haproxy:1";
export const nginxImage = "lameduck.test/nginx:1";
export const pythonImage = "lameduck.test/python:1";
export const gunicornImage = "lameduck.test/gunicorn:1";
export const jvmImage = "lameduck.test/jvm:1";
export const contourImage = "lameduck.test/contour:1";
export const envoyImage = "lameduck.test/envoy:1";
export const argoRolloutsImage = "lameduck.test/argo-rollouts:1";
export const argoCdImage = "lameduck.test/argo-cd:1";
export const redisImage = "lameduck.test/redis:1";
export const envoyGatewayImage = "lameduck.test/envoy-gateway:1";

const samples = join(import.meta.dirname, "samples");
const packages = join(import.meta.dirname, "..", "..", "..", "packages");

/** Where lameduck-init lies in every image, once it is built. */
export const initPath = "/lameduck-init";
export const builtInit = builtInitFor(process.arch);

function builtInitFor(processor: string): string {
  return join(packages, "init", "dist", `lameduck-init-${processor}`);
}

export const users: Layer = {
  files: [
    { to: "/etc/passwd", mode: 0o644, content: "root:x:0:0:root:/:/\nnobody:x:65534:65534:nobody:/:/\n" },
    { to: "/etc/group", mode: 0o644, content: "root:x:0:\nnogroup:x:65534:\n" },
  ],
  writable: ["/tmp"],
};

/**
 * Every image that the cluster's nodes are born with: those whose program this machine has. Layers that several images share
 * (users, the init) are equal and stored once.
 */
export async function catalogue(programs: Programs): Promise<Image[]> {
  return [
    scratch(pauseImage, "/pause", programs.pause),
    scratch(recorderImage, "/recorder", programs.recorder),
    ...(await serverImages(programs.jvm)),
  ];
}

/** Servers under test. @param runtime the directory of a Java runtime, where there is one. */
export async function serverImages(runtime: string | undefined): Promise<Image[]> {
  const common = [users, await shell(), ...(await initLayer())];
  const images = [
    await node(common),
    await offTheShelf(haproxyImage, "haproxy", common, { writable: ["/var/lib/haproxy"] }),
    await offTheShelf(nginxImage, "nginx", common, {
      writable: ["/var/lib/nginx", "/var/log/nginx", "/run"],
      files: [{ to: "/etc/nginx/nginx.conf", from: join(samples, "nginx.conf"), mode: 0o644 }],
      // As the official image has it: nginx's graceful stop.
      stopSignal: "SIGQUIT",
    }),
    ...(await pythons(common)),
    await jvm(common, runtime),
  ];
  return images.filter((image) => image !== undefined);
}

/** Where Argo CD's program lies in its image. It is one program under several names. */
export const argoCdPath = "/usr/local/bin/argocd";

/** Controllers lie where their manifests look for them. Only nodes of a cluster with such a controller get these images. */
const program = (reference: string, to: string, from: string): Image => ({
  reference,
  layers: [{ files: [{ to, from, withLibraries: true }] }, users],
  entrypoint: [to],
});

export const contourImageOf = (from: string): Image => program(contourImage, "/bin/contour", from);
export const envoyImageOf = (from: string): Image => program(envoyImage, "/usr/local/bin/envoy", from);
export const envoyGatewayImageOf = (from: string): Image =>
  program(envoyGatewayImage, "/usr/local/bin/envoy-gateway", from);
export const argoRolloutsImageOf = (from: string): Image =>
  program(argoRolloutsImage, "/bin/rollouts-controller", from);
export const fluxImageOf = (name: string, from: string): Image =>
  program(`lameduck.test/${name}:1`, `/bin/${name}`, from);

/** With the programs that it calls: Helm, and Debian's git. */
export async function argoCdImageOf(argoCd: string, helm: string): Promise<Image> {
  const git = await requireProgram("git");
  const files = [
    { to: argoCdPath, from: argoCd },
    { to: "/usr/local/bin/helm", from: helm },
    { to: "/usr/bin/git", from: git, withLibraries: true },
    { to: "/usr/lib/git-core/git", from: git },
  ];
  return { reference: argoCdImage, layers: [{ files }, users], entrypoint: [] };
}

export async function redis(): Promise<Image> {
  return program(redisImage, "/usr/bin/redis-server", await requireProgram("redis-server"));
}

const scratch = (reference: string, to: string, from: string): Image => ({
  reference,
  layers: [{ files: [{ to, from }] }],
  entrypoint: [to],
});

/**
 * Images are made without the init where it has not been built: who cannot do without asks first. The operator's image carries that
 * of every processor. @throws {ClusterError}
 */
export async function requireInit(processors: readonly string[] = [process.arch]): Promise<void> {
  for (const path of processors.map(builtInitFor))
    if (!existsSync(path)) throw new ClusterError("LAMEDUCK_CLUSTER_NOT_BUILT", path, "no such file");
}

/**
 * Images are made of the programs of this machine, and without those that it lacks: who cannot do without asks first.
 * @param names of images, software or routes, each with the name of its program in it @throws {ClusterError}
 */
export async function requireSoftware(names: readonly string[]): Promise<void> {
  for (const [name, program] of [
    ["haproxy", "haproxy"],
    ["nginx", "nginx"],
    ["python", "python3"],
    ["gunicorn", "gunicorn"],
    ["jvm", "jlink"],
  ] as const)
    if (names.some((one) => one.includes(name))) await requireProgram(program);
}

/** What hooks that people write run. */
async function shell(): Promise<Layer> {
  const files = await Promise.all(
    ["sh", "sleep"].map(async (name) => ({
      to: `/bin/${name}`,
      from: await realpath(`/bin/${name}`),
      withLibraries: true,
    })),
  );
  return { files };
}

async function initLayer(): Promise<Layer[]> {
  if (!existsSync(builtInit)) return [];
  return [{ files: [{ to: initPath, from: builtInit }] }];
}

/** The sample server, and Lameduck's library as an installation from npm would lay it out. */
export async function appFiles(): Promise<ImageFile[]> {
  const library: ImageFile[] = [];
  for (const name of [...inside.node, "node"]) {
    const installed = `/app/node_modules/@lameduck/${name}`;
    const source = join(packages, name);
    if (!existsSync(join(source, "dist"))) continue;
    library.push({ to: `${installed}/package.json`, from: join(source, "package.json"), mode: 0o644 });
    library.push(...(await tree(join(source, "dist"), `${installed}/dist`, /\.js$/)));
  }
  return [...(await tree(samples, "/app", /\.mjs$/)), ...library];
}

async function node(common: readonly Layer[]): Promise<Image> {
  return {
    reference: nodeImage,
    layers: [
      { files: [{ to: "/usr/local/bin/node", from: process.execPath, withLibraries: true }] },
      ...common,
      { files: await appFiles() },
    ],
    entrypoint: ["/usr/local/bin/node"],
  };
}

async function offTheShelf(
  reference: string,
  name: string,
  common: readonly Layer[],
  { files = [], writable = [], ...rest }: Partial<Layer & Pick<Image, "stopSignal">>,
): Promise<Image | undefined> {
  const program = await findProgram(name);
  if (program === undefined) return undefined;
  const to = `/usr/sbin/${name}`;
  return {
    reference,
    layers: [{ files: [{ to, from: program, withLibraries: true }, ...files], writable }, ...common],
    entrypoint: [to],
    ...rest,
  };
}

/** Python alone, and with gunicorn where Debian's is there. */
async function pythons(common: readonly Layer[]): Promise<Image[]> {
  const plain = await python(common);
  if (plain === undefined) return [];
  const added = "/usr/lib/python3/dist-packages";
  const needed = ["gunicorn", "pkg_resources"];
  if (!needed.every((name) => existsSync(join(added, name)))) return [plain];
  const gunicorn = await Promise.all(
    needed.map((name) => tree(join(added, name), `${added}/${name}`, /\.py$/)),
  );
  return [
    plain,
    {
      ...plain,
      reference: gunicornImage,
      layers: [...plain.layers, { files: gunicorn.flat() }],
      entrypoint: [...plain.entrypoint, "-m", "gunicorn"],
    },
  ];
}

/** Where the JVM lies in its image. */
export const javaPath = "/opt/java/bin/java";

async function jvm(common: readonly Layer[], runtime: string | undefined): Promise<Image | undefined> {
  if (runtime === undefined) return undefined;
  const files = await tree(runtime, "/opt/java", /^/, /^legal$/);
  const isProgram = (to: string): boolean => /\/(?:java|jspawnhelper)$/.test(to);
  return {
    reference: jvmImage,
    layers: [
      {
        files: files.map((file) => ({
          ...file,
          ...(isProgram(file.to) ? { mode: 0o755 } : {}),
          withLibraries: /\/(?:java|libjvm\.so)$/.test(file.to),
        })),
      },
      ...common,
    ],
    entrypoint: [javaPath],
  };
}

async function python(common: readonly Layer[]): Promise<Image | undefined> {
  const program = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : await findProgram("python3");
  if (program === undefined) return undefined;
  const ask = "import sys, sysconfig; print(sys.executable); print(sysconfig.get_path('stdlib'))";
  const [executable = program, library = ""] = (await run(program, ["-c", ask])).trim().split("\n");
  const standard = await tree(
    library,
    library,
    /\.(py|so)$/,
    /^(test|tests|__pycache__|site-packages|dist-packages)$/,
  );
  return {
    reference: pythonImage,
    layers: [
      { files: [{ to: executable, from: executable, withLibraries: true }, ...standard.map(withLibraries)] },
      ...common,
    ],
    entrypoint: [executable],
    environment: {
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONUNBUFFERED: "1",
      PYTHONHOME: dirname(dirname(library)),
    },
  };
}

export const withLibraries = (file: ImageFile): ImageFile =>
  file.to.endsWith(".so") ? { ...file, withLibraries: true } : file;

/** The files below a directory whose names match, sorted so that equal content gives equal layers. */
export async function tree(from: string, to: string, matching: RegExp, skip?: RegExp): Promise<ImageFile[]> {
  const entries = await readdir(from, { withFileTypes: true });
  const files: ImageFile[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const { name } = entry;
    if (entry.isDirectory() && !skip?.test(name))
      files.push(...(await tree(join(from, name), `${to}/${name}`, matching, skip)));
    else if (entry.isFile() && matching.test(name))
      files.push({ to: `${to}/${name}`, from: join(from, name), mode: 0o644 });
  }
  return files;
}
