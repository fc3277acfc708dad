import { errorClass } from "@lameduck/drain/common";

/** Every way bringing up or using the test cluster can fail, with what to do about it. */
const clusterErrors = {
  LAMEDUCK_CLUSTER_NEEDS_LINUX: "run it on Linux, or name a cluster you have with E2E_KUBECONFIG",
  LAMEDUCK_CLUSTER_NEEDS_ROOT:
    "run it as root (namespaces, mounts and cgroups), or name a cluster you have with E2E_KUBECONFIG",
  LAMEDUCK_CLUSTER_NEEDS_GO: "install Go 1.26.8 or later 1.26 (https://go.dev/dl) and put it into PATH",
  LAMEDUCK_CLUSTER_MISSING_PACKAGES: "install the Debian packages named",
  LAMEDUCK_CLUSTER_BUILD_FAILED:
    "read the compiler's words above; the module proxy must be reachable for the first build",
  LAMEDUCK_CLUSTER_NOT_BUILT:
    "build it: npm run build:init; for arm64 on x64 it needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross",
  LAMEDUCK_CLUSTER_COMMAND_FAILED: "read the program's own words",
  LAMEDUCK_CLUSTER_BUSY: "end that cluster first (npm run cluster:down), or use it (Cluster.attach)",
  LAMEDUCK_CLUSTER_NOT_UP: "bring it up: npm run cluster:up",
  LAMEDUCK_CLUSTER_COMPONENT_ENDED: "read the log named",
  LAMEDUCK_CLUSTER_UNKNOWN_COMPONENT: "take one of the names printed by npm run cluster:status",
  LAMEDUCK_CLUSTER_TIMEOUT:
    "read the logs in the directory named; a loaded machine may need a longer deadline",
  LAMEDUCK_CLUSTER_BAD_OPTION: "see npm run cluster -- --help",
} as const;

/** `code` is stable, `place` says which option, program or component, `remedy` what to do. */
export class ClusterError extends errorClass(clusterErrors) {}

/** Of a name or number that somebody gave and that cannot be. */
export function badOption(option: string, problem: string): ClusterError {
  return new ClusterError("LAMEDUCK_CLUSTER_BAD_OPTION", option, problem);
}
