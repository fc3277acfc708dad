import { run, type Finished } from "../network/run.ts";

/** How the stage gets network namespaces here. */
export type Fabric =
  | { readonly kind: "root" }
  /** The user outside the namespace; containers run as that user. */
  | { readonly kind: "user"; readonly uid: number; readonly gid: number }
  | { readonly kind: "none"; readonly because: string };

/**
 * Everything that the stage will do, once, in namespaces that vanish with this shell. Asking the kernel's settings instead would
 * miss AppArmor, seccomp, masked /proc and missing tools.
 */
const rehearsal = `
set -e
ip link set lo up
ip link add name lameduck type bridge
ip addr add 198.18.0.1/16 dev lameduck
ip link set lameduck up
unshare --net --uts sh -c '
  set -e
  echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
  ip link set lo up
  sleep 10 & pod=$!
  nsenter --net=/proc/$pod/ns/net --uts=/proc/$pod/ns/uts -- \\
    unshare --pid --mount --fork --kill-child --mount-proc -- sh -c "test \\$\\$ = 1"
  kill $pod'
`;

/** Arguments of unshare for the namespace in which a whole stage lives. */
export function unshareArguments(kind: "root" | "user"): string[] {
  const user = kind === "user" ? ["--user", "--map-root-user"] : [];
  return [...user, "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
}

export async function findFabric(): Promise<Fabric> {
  if (process.platform !== "linux")
    return { kind: "none", because: `${process.platform} has no network namespaces` };
  const reasons: string[] = [];
  const root = process.getuid?.() === 0;
  for (const kind of root ? (["root", "user"] as const) : (["user"] as const)) {
    const tried = await run("unshare", [...unshareArguments(kind), "--", "sh", "-c", rehearsal]);
    if (tried.code === 0)
      return kind === "root"
        ? { kind }
        : { kind, uid: process.getuid?.() ?? 65_534, gid: process.getgid?.() ?? 65_534 };
    reasons.push(tried.code === 127 ? "there is no unshare here: install util-linux" : whyNot(tried));
  }
  return { kind: "none", because: reasons.at(-1) ?? "not allowed" };
}

function whyNot({ code, stderr }: Finished): string {
  const lastLine = stderr.trim().split("\n").at(-1) ?? "";
  if (/\b(ip|nsenter): (command )?not found/.test(lastLine))
    return `${lastLine}: install iproute2 and util-linux`;
  return lastLine || `unshare ended with ${code}`;
}
