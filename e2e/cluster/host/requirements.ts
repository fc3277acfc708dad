import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
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
  ps: "procps",
};

/** Those that only some tests need; they are not installed by themselves. */
const furtherPrograms: Readonly<Record<string, string>> = {
  "dbus-daemon": "dbus",
  "dbus-send": "dbus",
  jlink: "openjdk-17-jdk-headless",
  "redis-server": "redis-server",
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
    `not found; apt-get install -y ${debianPrograms[name] ?? furtherPrograms[name] ?? name}`,
  );
}

export async function missingPackages(): Promise<string[]> {
  const missing = new Set<string>();
  for (const [program, debianPackage] of Object.entries(debianPrograms))
    if ((await findProgram(program)) === undefined) missing.add(debianPackage);
  if (!(await hasStaticLibrary())) missing.add("libc6-dev");
  return [...missing];
}

/** Debian's gcc only recommends it. gcc answers with a bare name when it knows no such file. */
async function hasStaticLibrary(): Promise<boolean> {
  const gcc = await findProgram("gcc");
  if (gcc === undefined) return false;
  return isAbsolute((await attempt(gcc, ["-print-file-name=libc.a"])).stdout.trim());
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
