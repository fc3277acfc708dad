import { hasStatus, type KubernetesClient } from "@lameduck/kube";
import { formatProblem, adviceOn, policyName, validatePolicy } from "@lameduck/inject";
import { apiPath, isMap } from "@lameduck/protocol";
import type { PolicyObject } from "@lameduck/cluster";
import type { LosesRequests } from "./workload-audit/condition.ts";

interface NewCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

interface WrittenCondition extends NewCondition {
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

interface PolicyStatusOptions {
  readonly now: () => number;
  /** Whose DrainPolicy is the cluster's. */
  readonly ownNamespace: string;
  /** Of the workloads that a policy applies to. "kept": what is written stays, since nothing is known yet. */
  readonly losing: (policy: PolicyObject) => LosesRequests | "kept" | undefined;
  readonly onProblem: (error: unknown) => void;
}

/**
 * Writes conditions into each DrainPolicy: whether it is valid, whether it leaves time, and whether its workloads will lose requests. A policy may be older than the
 * webhook, which refuses invalid ones.
 */
export async function updatePolicyStatus(
  client: KubernetesClient,
  policies: readonly PolicyObject[],
  { now, ownNamespace, losing, onProblem }: PolicyStatusOptions,
): Promise<void> {
  for (const policy of policies) {
    const { name, namespace = "", generation } = policy.metadata;
    const written = writtenConditions(policy);
    const found = losing(policy);
    const kept = written.find(({ type }) => type === "LosesRequests");
    const clusterPolicy = policies.find(
      (one) => one.metadata.namespace === ownNamespace && one.metadata.name === policyName,
    );
    const accepted = acceptedFor(policy);
    const time = accepted.status === "True" ? timeFor(policy, clusterPolicy) : undefined;
    const news = [accepted, time, found === "kept" ? kept : found].filter((one) => one !== undefined);
    const conditions = news.map((one): WrittenCondition => {
      const before = written.find(({ type }) => type === one.type);
      const isOlder = before?.status === one.status && before.lastTransitionTime !== undefined;
      return {
        ...one,
        ...(generation === undefined ? {} : { observedGeneration: generation }),
        lastTransitionTime: isOlder ? before.lastTransitionTime : new Date(now()).toISOString(),
      };
    });
    if (areSame(written, conditions)) continue;
    const path = `${apiPath}/namespaces/${namespace}/drainpolicies/${name}/status`;
    const status = { observedGeneration: generation, conditions };
    try {
      await client.patch(path, { status }, "merge-patch");
    } catch (error) {
      // One that the schema refuses by now must not keep the others from being told.
      if (!hasStatus(error, 404, 409)) onProblem(error);
    }
  }
}

function acceptedFor(policy: PolicyObject): NewCondition {
  const problems = validatePolicy(policy);
  if (problems.length === 0)
    return { type: "Accepted", status: "True", reason: "Valid", message: "every field counts" };
  const message = problems.map(formatProblem).join("; ");
  return { type: "Accepted", status: "False", reason: "Invalid", message: message.slice(0, 4_000) };
}

/** Only where it is to be said: a condition that is always True would hide the others. */
function timeFor(policy: PolicyObject, clusterPolicy: PolicyObject | undefined): NewCondition | undefined {
  const advice = adviceOn(policy, policy === clusterPolicy ? undefined : clusterPolicy);
  if (advice.length === 0) return undefined;
  return { type: "LeavesTime", status: "False", reason: "TooLittle", message: advice.join("; ") };
}

function writtenConditions({ status }: PolicyObject): readonly WrittenCondition[] {
  const conditions = isMap(status) && Array.isArray(status["conditions"]) ? status["conditions"] : [];
  return (conditions as unknown[]).filter((one) => isMap(one)) as unknown as WrittenCondition[];
}

function areSame(written: readonly WrittenCondition[], conditions: readonly WrittenCondition[]): boolean {
  return (
    written.length === conditions.length &&
    conditions.every((one) => written.some((before) => isSame(before, one)))
  );
}

function isSame(a: WrittenCondition, b: WrittenCondition): boolean {
  return (
    a.type === b.type &&
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}
