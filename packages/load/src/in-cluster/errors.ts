import { errorClass } from "@lameduck/drain/common";

/** Every way the load in the cluster can fail. The same codes stand in docs/reference/errors.md. */
export const inClusterErrors = {
  LAMEDUCK_IN_CLUSTER_BAD_OPTION: "give a value in the range that is named",
  LAMEDUCK_IN_CLUSTER_NO_PROGRAM: "install lameduck again, or run `npm ci` in a clone of the repository",
  LAMEDUCK_IN_CLUSTER_NOT_STARTED:
    "correct what the message says: quotas or policies may forbid the pods; --image uses another image with Node 22.2 or newer",
  LAMEDUCK_IN_CLUSTER_URL: "give a URL that answers from inside the cluster, such as http://web.shop.svc/",
  LAMEDUCK_IN_CLUSTER_PODS_LOST:
    "find out why the pods of the load ended; if they ran out of memory, lower --rps or give more --in-cluster pods",
} as const;

export type InClusterErrorCode = keyof typeof inClusterErrors;

/** `code` is stable, `place` is the option or the object, `remedy` says what to do. */
export class InClusterError extends errorClass(inClusterErrors) {}
