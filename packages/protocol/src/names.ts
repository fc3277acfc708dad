import { podsPath } from "./pod.ts";

/** The label of a namespace, or of a pod, that says whether pods are injected: "enabled" or "disabled". */
export const injectLabel = "lameduck.dev/inject";

/**
 * An annotation of pods that are made as dry runs: "policy" or "webhook" asks that one to put its revision in place of the question. Who asks
 * learns whether the API server that answers applies it.
 */
export const probeAnnotation = "lameduck.dev/probe";

/** An annotation of pods: the version that has injected it. */
export const injectedAnnotation = "lameduck.dev/injected";

/** An annotation of pods: the longest sleep in whose place a hold has come, "15s". Records compare the hold with it. */
export const formerSleepAnnotation = "lameduck.dev/former-sleep";

/** Seconds; undefined where no sleep was replaced, or somebody has written something else. */
export function formerSleepIn(annotations: Readonly<Record<string, unknown>> = {}): number | undefined {
  const text = annotations[formerSleepAnnotation];
  const [, seconds] = (typeof text === "string" && /^(\d{1,5})s$/.exec(text)) || [];
  return seconds === undefined ? undefined : Number(seconds);
}

/** Where lameduck-init lies in an injected container, and what lies there. */
export const initVolumePath = "/lameduck";
export const initFile = "lameduck-init";
export const registerFile = "lameduck-register.cjs";

/** If the manifest sets it, even to an empty value, no variable of the coordinator is added. */
export const coordinatorVariable = "LAMEDUCK_COORDINATOR";

/** Values of a pod's label that say no. Other injectors know "false", which must not inject whom it is to keep out. */
export const declining: readonly string[] = ["disabled", "false"];

/** An annotation of one terminating pod: "now" asks that its hold end at once. Who may patch the pod may ask. */
export const endAnnotation = "lameduck.dev/end";
export const endAnnotationValue = "now";

/** The label of a namespace, or of a pod, that says whether deletions are held; as an annotation of a pod "false" says no. */
export const holdLabel = "lameduck.dev/held-deletions";

/** The label of a pod for which another is to be ready before it is evicted. */
export const surgeLabel = "lameduck.dev/surge";
export const surgeLabelValue = "enabled";

/** Group and version of DrainPolicies and DrainReports, and where the API server has them. */
export const apiVersion = "lameduck.dev/v1alpha1";
export const apiPath = `/apis/${apiVersion}`;

/** Label and annotation of a pod that is held. The label finds it again; the annotation says how it was. */
export const heldMark = "lameduck.dev/held";

/** A ServiceAccount that may report, as the flags and the chart write it: "NAMESPACE/NAME", or "NAMESPACE/NAME=KIND,KIND" for these kinds alone. */
export const consumerAccount = /^[a-z0-9-]+\/[a-z0-9.-]+(?:=[a-z0-9][a-z0-9-]*(?:,[a-z0-9][a-z0-9-]*)*)?$/;

/**
 * What the operator's process, the chart, `lameduck install` and `lameduck status` must call alike. docs/contributing/operator.md describes them.
 */
export const operatorNames = {
  /** Where everything is installed unless told otherwise. */
  namespace: "lameduck-system",
  /** Deployment, ServiceAccount, roles and PodDisruptionBudget. */
  workload: "lameduck-webhook",
  service: "lameduck-webhook",
  /** In the operator's own namespace: authority, certificate and their keys. */
  certificateSecret: "lameduck-webhook-tls",
  /** In the operator's own namespace: which replica copies init volumes. */
  lease: "lameduck-webhook",
  /** Both a MutatingWebhookConfiguration and a ValidatingWebhookConfiguration. */
  configuration: "lameduck.dev",
  webhooks: {
    inject: "inject.lameduck.dev",
    policies: "policies.lameduck.dev",
    workloads: "workloads.lameduck.dev",
    deletions: "deletions.lameduck.dev",
    evictions: "evictions.lameduck.dev",
  },
  /** A ValidatingWebhookConfiguration of its own: who deletes it has switched held deletions off. Also ClusterRole and its binding. */
  heldDeletions: "held-deletions.lameduck.dev",
  /** The same, of surges before evictions; also the name of its one webhook. */
  surge: "surge.lameduck.dev",
  /** ClusterRole and its binding: what auditing workloads needs. */
  workloadAudit: "workload-audit.lameduck.dev",
  paths: {
    mutate: "/mutate",
    validate: "/validate",
    hold: "/hold",
    surge: "/surge",
    ready: "/readyz",
    live: "/livez",
    metrics: "/metrics",
  },
  ports: { service: 443, webhook: 8443, metrics: 9090 },
  /** In every namespace that is injected: what containers mount. */
  initConfigMap: "lameduck-init",
  fieldManager: "lameduck-operator",
  /** Who collects what senders report: packages/coordinator/src. */
  coordinator: {
    /** Deployment, ServiceAccount, roles and PodDisruptionBudget. */
    workload: "lameduck-coordinator",
    /** Pods ask any replica. */
    service: "lameduck-coordinator",
    /** Headless: consumers report to each replica. */
    consumersService: "lameduck-consumers",
    /** In the operator's own namespace: which replica writes records. */
    lease: "lameduck-coordinator",
    ports: { protocol: 8070, metrics: 9090 },
    /** The audience of the tokens that consumers and pods show. Tokens for the API server are not accepted here. */
    audience: "lameduck",
    paths: {
      pods: podsPath,
      consumers: "/v1/consumers",
      holds: "/v1/holds",
      status: "/status",
      terminating: "/terminating",
    },
  },
  /** Who reports for the proxy of each node: packages/watcher/src. */
  watcher: {
    /** Pod Security "privileged": the operator's own namespace stays "restricted". */
    namespace: "lameduck-node",
    /** DaemonSet, ServiceAccount. */
    workload: "lameduck-watcher",
    /** Of the node itself, on its loopback address. */
    livePort: 8071,
  },
  /** Who reports for load balancers of clouds: Deployment, ServiceAccount, ClusterRole and its binding. */
  balancers: { workload: "lameduck-balancers" },
} as const;

/** The oldest minor version of Kubernetes 1 that each needs. A test holds the chart and docs/operate/compatibility.md to it. */
export const oldestKubernetes = {
  /** matchConditions of webhooks. */
  webhook: 30,
  /** The kubelet's own `sleep` in a preStop hook, without a feature gate. */
  sleep: 30,
  imageVolume: 35,
  /** MutatingAdmissionPolicy without a feature gate. */
  policy: 36,
} as const;

/** What is injected names it. A constant, because the process is one file; a test holds it to package.json. */
export const lameduckVersion = "0.1.0";
