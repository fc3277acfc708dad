/**
 * The load as a Job in the cluster (`--in-cluster --parallel N`), so that ClusterIPs and pod networks can be hit and the load can
 * outgrow one machine.
 *
 *     const load = await InClusterLoad.start({ kube: client, clock, namespace, routes, parallel: 2, rate: 600, ... });
 *     await load.begin();                              // resolves when all pods send
 *     const { records, missing, notes } = await load.stop();
 *
 * It is a LoadSource like RouteLoad, but its routes are not opened here: the pods look names up and ask once themselves, and a URL that
 * does not answer there is LAMEDUCK_IN_CLUSTER_URL. `inClusterRules` is what the preflight has to ask for.
 */
export { inClusterErrors, InClusterError, type InClusterErrorCode } from "./errors.ts";
export { InClusterLoad } from "./in-cluster-load.ts";
export { checkOptions as checkInClusterOptions, defaultImage, type InClusterOptions } from "./options.ts";
export { inClusterRules } from "./rights.ts";
