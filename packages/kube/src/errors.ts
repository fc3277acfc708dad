import { errorClass } from "@lameduck/drain/common";

/** Every way `lameduck rollout` can be asked for wrongly, refused, or fail to reach a cluster. The same codes stand in docs/reference/errors.md. */
export const kubernetesErrors = {
  LAMEDUCK_NO_KUBECONFIG: "give --kubeconfig FILE, set KUBECONFIG, or run in a pod with a service account",
  LAMEDUCK_KUBECONFIG_INVALID:
    "correct the entry that is named; `kubectl config view` shows how kubectl reads it",
  LAMEDUCK_NO_SUCH_CONTEXT: "choose one of those that `kubectl config get-contexts` lists",
  LAMEDUCK_PROXY_NOT_SUPPORTED: "use Node 22.21, 24.5 or newer, and an http:// or https:// proxy",
  LAMEDUCK_CREDENTIALS_FAILED: "log in again as for kubectl, then check with `kubectl auth whoami`",
  LAMEDUCK_API_UNREACHABLE: "check the network, the VPN and the server's address in the kubeconfig",
  LAMEDUCK_API_REFUSED: "see the API server's own message, which is quoted",
  LAMEDUCK_API_FORBIDDEN:
    "ask an administrator for this right; for a rollout, --dry-run prints the least Role as YAML",
  LAMEDUCK_CLUSTER_TOO_OLD: "upgrade the cluster, or send the load from this machine, without --in-cluster",
  LAMEDUCK_BAD_TARGET:
    "write deployment/NAME, statefulset/NAME, daemonset/NAME, rollout/NAME (Argo) or pod/NAME",
  LAMEDUCK_NO_SUCH_TARGET: "correct the name, the namespace (-n) or the context (--context)",
  LAMEDUCK_CANNOT_ROLL: "choose another action, or correct what the message names",
  LAMEDUCK_BAD_URL: "give a URL such as http://shop.example/ or ingress=http://shop.example/",
  LAMEDUCK_URL_NOT_ANSWERING:
    "give a URL that answers from this machine, or run the load in the cluster (--in-cluster)",
  LAMEDUCK_NOT_TAKEN_BACK: "run the command that the message names",
  LAMEDUCK_NOT_CONFIRMED: "confirm at the terminal, or give --yes if you are sure",
} as const;

export type KubernetesErrorCode = keyof typeof kubernetesErrors;

/** `code` is stable, `place` is the option, object or request, `remedy` says what to do. */
export class KubernetesError extends errorClass(kubernetesErrors) {}
