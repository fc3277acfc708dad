import { cacheDirectory } from "./host/paths.ts";
import { buildHelm, buildKubeRouter, buildPrograms, type Programs } from "./host/programs.ts";
import { requireHost, requireProgram } from "./host/requirements.ts";
import { catalogue } from "./images/catalogue.ts";
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
