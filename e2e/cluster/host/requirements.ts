import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { ClusterError } from "../errors.ts";
import { attempt, run } from "./run.ts";

/** Programs that do not come from Go modules, and the Debian packages that bring them. runc: a Go build of it lacks seccomp without libseccomp-dev. */
const debianPrograms: Readonly<Record<string, string>> = {
  runc: "runc",
  ip: "iproute2",
  iptables: "iptables",
  nft: "nftables",
  conntrack: "conntrack",
  gcc: "gcc",
  openssl: "openssl",
  nsenter: "util-linux",
  setpriv: "util-linux",
};

const searchPath = (): readonly string[] => [
  ...(process.env["PATH"] ?? "").split(delimiter),
  "/usr/sbin",
  "/sbin",
  "/usr/local/go/bin",
];

export async function findProgram(name: string): Promise<string | undefined> {
  for (const directory of searchPath()) {
    const candidate = join(directory, name);
    try {
      await access(candidate, constants.X_OK);
      return candidate;
    } catch {
      continue;
    }
  }
  return undefined;
}

export async function requireProgram(name: string): Promise<string> {
  const found = await findProgram(name);
  if (found !== undefined) return found;
  throw new ClusterError(
    "LAMEDUCK_CLUSTER_MISSING_PACKAGES",
    name,
    `not found; apt-get install -y ${debianPrograms[name] ?? name}`,
  );
}

async function missingPackages(): Promise<string[]> {
  const missing = new Set<string>();
  for (const [program, debianPackage] of Object.entries(debianPrograms))
    if ((await findProgram(program)) === undefined) missing.add(debianPackage);
  return [...missing];
}

/** Why this machine cannot run the cluster, in one line; undefined when it can. For tests that must say why they did not run. */
export async function whyNot(): Promise<string | undefined> {
  if (process.platform !== "linux") return "the test cluster needs Linux";
  if (process.getuid?.() !== 0) return "the test cluster needs root";
  if ((await findProgram("go")) === undefined) return "the test cluster needs Go 1.26 (https://go.dev/dl)";
  return undefined;
}

/** Checks the host; as root it installs what Debian packages can bring. */
export async function requireHost(say: (line: string) => void): Promise<void> {
  if (process.platform !== "linux")
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_NEEDS_LINUX",
      process.platform,
      "no namespaces and cgroups here",
    );
  const missing = await missingPackages();
  const install = `apt-get install -y ${missing.join(" ")}`;
  if (process.getuid?.() !== 0)
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_NEEDS_ROOT",
      `user ${process.getuid?.()}`,
      missing.length === 0 ? "not root" : `not root; also missing: ${install}`,
    );
  if (missing.length === 0) return;
  if ((await findProgram("apt-get")) === undefined)
    throw new ClusterError(
      "LAMEDUCK_CLUSTER_MISSING_PACKAGES",
      missing.join(" "),
      "not installed, and no apt-get here",
    );
  say(`installing ${missing.join(" ")} (${install})`);
  await attempt("apt-get", ["update", "-q"]);
  await run("apt-get", ["install", "-y", "-q", ...missing], {
    environment: { DEBIAN_FRONTEND: "noninteractive" },
  });
}
