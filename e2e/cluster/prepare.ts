import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheDirectory } from "./host/paths.ts";
import {
  buildChosen,
  buildGateway,
  buildHelm,
  buildKubeRouter,
  buildPrograms,
  directoryOfModule,
  fetchEnvoy,
  type Chosen,
  type Programs,
} from "./host/programs.ts";
import { run } from "./host/run.ts";
import { requireHost, requireProgram } from "./host/requirements.ts";
import {
  argoCdImageOf,
  argoRolloutsImageOf,
  catalogue,
  contourImageOf,
  envoyGatewayImage,
  envoyGatewayImageOf,
  envoyImageOf,
  fluxImageOf,
  redis,
} from "./images/catalogue.ts";
import type { Image } from "./images/image.ts";
import { prepareStore } from "./images/store.ts";

export interface Prepared {
  readonly programs: Programs;
  /** The images, as every node is given them. */
  readonly store: string;
}

/** What takes minutes the first time and nothing afterwards: Debian packages, programs, images. */
export async function prepare(say: (line: string) => void): Promise<Prepared> {
  await requireHost(say);
  const cache = cacheDirectory();
  const programs = await buildPrograms(cache, say);
  const store = await prepareStore(await catalogue(programs), programs, cache, say);
  return { programs, store };
}

/** The same for Helm, which no cluster needs to run. */
export async function prepareHelm(say: (line: string) => void): Promise<void> {
  await buildHelm(cacheDirectory(), say);
}

/** The same for what enforces NetworkPolicies. @returns the path of kube-router, which calls ipset. */
export async function prepareKubeRouter(say: (line: string) => void): Promise<string> {
  await requireProgram("ipset");
  return buildKubeRouter(cacheDirectory(), say);
}

/** The same for Argo Rollouts. @returns its image, and the file of its manifests. */
export async function prepareArgoRollouts(
  say: (line: string) => void,
): Promise<{ readonly image: Image; readonly manifests: string }> {
  const controller = await buildChosen("argo-rollouts", "rollouts-controller", cacheDirectory(), say);
  const source = await directoryOfModule("argo-rollouts", "github.com/argoproj/argo-rollouts");
  return { image: argoRolloutsImageOf(controller), manifests: join(source, "manifests", "install.yaml") };
}

/** What Flux runs, and where its manifests lie. */
interface FluxController {
  readonly name: string;
  readonly image: Image;
  readonly config: string;
}

/** The same for two controllers of Flux. @returns them, and the CRDs of their sources. */
export async function prepareFlux(
  say: (line: string) => void,
): Promise<{ readonly controllers: readonly FluxController[]; readonly sourceCrds: string }> {
  const configOf = async (module: string): Promise<string> =>
    join(await directoryOfModule("flux", `github.com/fluxcd/${module}`), "config");
  const controllers: FluxController[] = [];
  for (const name of ["kustomize-controller", "helm-controller"]) {
    const built = await buildChosen("flux", name, cacheDirectory(), say);
    controllers.push({ name, image: fluxImageOf(name, built), config: await configOf(name) });
  }
  // Its code is not built: the CRDs of its sources are read.
  const sources = await configOf("source-controller@v1.9.6");
  return { controllers, sourceCrds: join(sources, "crd", "bases") };
}

/** The same for Argo CD. @returns its images with Redis, and the file of its manifests without a user interface. */
export async function prepareArgoCd(
  say: (line: string) => void,
): Promise<{ readonly images: readonly Image[]; readonly manifests: string }> {
  const cache = cacheDirectory();
  const argoCd = await buildChosen("argo-cd", "cmd", cache, say);
  const helm = await buildChosen("argo-cd", "helm", cache, say);
  const source = await directoryOfModule("argo-cd", "github.com/argoproj/argo-cd/v3");
  return {
    images: [await argoCdImageOf(argoCd, helm), await redis()],
    manifests: join(source, "manifests", "core-install.yaml"),
  };
}

/** What only its own test runs, by the name that asks for it: `npm run test:cluster -- NAME`. */
export const chosen: Readonly<Record<Chosen, (say: (line: string) => void) => Promise<object>>> = {
  "argo-cd": prepareArgoCd,
  "argo-rollouts": prepareArgoRollouts,
  flux: prepareFlux,
};

/** The same for Contour with its Envoy. @returns its images, and where its manifests and the CRDs of the Gateway API lie. */
export async function prepareContour(
  say: (line: string) => void,
): Promise<{ readonly images: readonly Image[]; readonly examples: string; readonly gatewayCrds: string }> {
  const cache = cacheDirectory();
  const contour = await buildGateway("contour", cache, say);
  const envoy = await fetchEnvoy(cache, say);
  const source = await directoryOfModule("contour", "github.com/projectcontour/contour");
  const gateways = await directoryOfModule("contour", "sigs.k8s.io/gateway-api");
  return {
    images: [contourImageOf(contour), envoyImageOf(envoy)],
    examples: join(source, "examples"),
    gatewayCrds: join(gateways, "config", "crd", "experimental"),
  };
}

/** The same for Envoy alone. */
export async function prepareEnvoy(say: (line: string) => void): Promise<Image> {
  return envoyImageOf(await fetchEnvoy(cacheDirectory(), say));
}

/** The same for Envoy Gateway. @returns its images, and what its chart makes. */
export async function prepareEnvoyGateway(
  say: (line: string) => void,
): Promise<{ readonly images: readonly Image[]; readonly manifests: string }> {
  const cache = cacheDirectory();
  const gateway = await buildGateway("envoy-gateway", cache, say);
  const envoy = await fetchEnvoy(cache, say);
  const source = await directoryOfModule("envoy-gateway", "github.com/envoyproxy/gateway");
  const manifests = await rendered(join(source, "charts", "gateway-helm"), await buildHelm(cache, say));
  return { images: [envoyGatewayImageOf(gateway), envoyImageOf(envoy)], manifests };
}

/** The chart of a source tree has places for the image in its values, which a release fills in. */
async function rendered(chart: string, helm: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "lameduck-chart-"));
  try {
    await cp(chart, directory, { recursive: true });
    const values = (await readFile(join(directory, "values.tmpl.yaml"), "utf8"))
      .replaceAll("${GatewayImage}", envoyGatewayImage)
      .replaceAll("${GatewayImagePullPolicy}", "IfNotPresent");
    await writeFile(join(directory, "values.yaml"), values);
    const environment = {
      HELM_CACHE_HOME: directory,
      HELM_CONFIG_HOME: directory,
      HELM_DATA_HOME: directory,
    };
    const args = ["template", "eg", directory, "-n", "envoy-gateway-system", "--include-crds"];
    return await run(helm, args, { environment });
  } finally {
    // Files of the module cache are not writable, nor are copies of its directories.
    await run("chmod", ["-R", "u+w", directory]);
    await rm(directory, { recursive: true });
  }
}
