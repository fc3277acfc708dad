import type { PodSpec } from "@lameduck/kube";
import { isSecret, planFile, programFile, programFolder, type PodPlan } from "./plan.ts";

export const runLabel = "lameduck.dev/load";
export const containerName = "load";

/** What is taken over from the target's pods. Not their labels, affinity or other selectors: those say where the app belongs. */
export type LikePod = Pick<PodSpec, "nodeSelector" | "tolerations" | "imagePullSecrets">;

const architecture = "kubernetes.io/arch";

export interface JobOptions {
  readonly name: string;
  readonly image: string;
  readonly parallel: number;
  /** Milliseconds: the longest the load can take, its last time-outs and the reading of its log included. */
  readonly longest: number;
  /** Milliseconds that a pod is left after SIGTERM. */
  readonly grace: number;
  /** Nodes that are going to be drained: load that is evicted measures nothing. */
  readonly avoidNodes: readonly string[];
  readonly like: LikePod;
  /** The program and its plan are a Secret. */
  readonly secret: boolean;
}

/** Admitted by Pod Security "restricted": no root, no capability, nothing writable. */
export function jobManifest(options: JobOptions): object {
  const { name, image, parallel, avoidNodes, secret } = options;
  const { nodeSelector = {}, tolerations = [], imagePullSecrets = [] } = options.like;
  const arch = nodeSelector[architecture];
  const labels = {
    [runLabel]: name,
    "app.kubernetes.io/name": "lameduck-load",
    "app.kubernetes.io/managed-by": "lameduck",
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, labels },
    spec: {
      parallelism: parallel,
      completions: parallel,
      completionMode: "Indexed",
      // A pod that ends is not replaced: its successor's load would be another one.
      backoffLimitPerIndex: 0,
      // If the command that started it is gone, it ends by itself and is removed with everything that belongs to it.
      activeDeadlineSeconds: Math.ceil(options.longest / 1_000),
      ttlSecondsAfterFinished: 60,
      template: {
        metadata: { labels, annotations: { "cluster-autoscaler.kubernetes.io/safe-to-evict": "false" } },
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: Math.ceil(options.grace / 1_000),
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            runAsGroup: 65532,
            seccompProfile: { type: "RuntimeDefault" },
          },
          nodeSelector: {
            "kubernetes.io/os": "linux",
            ...(arch === undefined ? {} : { [architecture]: arch }),
          },
          ...(tolerations.length > 0 ? { tolerations } : {}),
          ...(imagePullSecrets.length > 0 ? { imagePullSecrets } : {}),
          ...(avoidNodes.length > 0 ? { affinity: elsewhere(avoidNodes) } : {}),
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "kubernetes.io/hostname",
              whenUnsatisfiable: "ScheduleAnyway",
              labelSelector: { matchLabels: { [runLabel]: name } },
            },
          ],
          containers: [
            {
              name: containerName,
              image,
              imagePullPolicy: "IfNotPresent",
              command: ["node", `${programFolder}/${programFile}`],
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] },
              },
              // Measured: 85 MB and 8 % of a core at 300 requests/s, 156 MB and 20 % at 2,000/s.
              resources: {
                requests: { cpu: "100m", memory: "128Mi" },
                limits: { memory: "512Mi" },
              },
              volumeMounts: [{ name: "program", mountPath: programFolder, readOnly: true }],
            },
          ],
          volumes: [
            { name: "program", ...(secret ? { secret: { secretName: name } } : { configMap: { name } }) },
          ],
        },
      },
    },
  };
}

function elsewhere(nodes: readonly string[]): object {
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "NotIn", values: nodes }] };
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } };
}

/** Belongs to the Job: it goes with it. */
export function programManifest(name: string, jobUid: string, program: string, plan: PodPlan): object {
  const secret = isSecret(plan.routes);
  return {
    apiVersion: "v1",
    kind: secret ? "Secret" : "ConfigMap",
    metadata: {
      name,
      labels: { [runLabel]: name, "app.kubernetes.io/managed-by": "lameduck" },
      ownerReferences: [{ apiVersion: "batch/v1", kind: "Job", name, uid: jobUid }],
    },
    immutable: true,
    [secret ? "stringData" : "data"]: { [programFile]: program, [planFile]: JSON.stringify(plan) },
  };
}
