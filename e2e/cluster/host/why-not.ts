import { cacheDirectory } from "./paths.ts";
import { areBuilt, goProblem } from "./programs.ts";
import { findProgram, missingPackages } from "./requirements.ts";
import { attempt } from "./run.ts";

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
