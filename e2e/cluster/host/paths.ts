import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { badOption } from "../errors.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Where built programs and images are kept between runs; content-addressed, safe to delete. */
export function cacheDirectory(environment: Environment = process.env): string {
  if (environment["LAMEDUCK_CACHE"]) return resolve(environment["LAMEDUCK_CACHE"]);
  return join(environment["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "lameduck");
}

/** Everything a running cluster writes; removed when it goes down. */
export function stateDirectory(environment: Environment = process.env): string {
  const directory = resolve(environment["LAMEDUCK_CLUSTER_STATE"] ?? join(tmpdir(), "lameduck-e2e"));
  const hidden = nodePrivateDirectories.find((path) => `${directory}/`.startsWith(`${path}/`));
  if (hidden !== undefined)
    throw badOption(
      "LAMEDUCK_CLUSTER_STATE",
      `${directory} lies in ${hidden}, which every node replaces by its own`,
    );
  return directory;
}

/**
 * Each node sees its own copy of these: containerd, kubelet, CNI and iptables keep sockets, locks and state at fixed paths
 * below them (/run/containerd/s, /run/xtables.lock, /var/lib/cni, /var/lib/kubelet/device-plugins, /var/log/containers).
 */
export const nodePrivateDirectories = ["/run", "/var/lib", "/var/log"] as const;
