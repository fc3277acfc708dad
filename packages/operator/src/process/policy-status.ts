import { hasStatus, type KubernetesClient } from "@lameduck/kube";
import { formatProblem } from "../policy/read.ts";
import { isMap, validatePolicy } from "../policy/validate.ts";
import type { PolicyObject } from "../exposure/objects.ts";

interface AcceptedCondition {
  readonly type: "Accepted";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** Says in each DrainPolicy whether it counts: one may be older than the webhook that would have refused it. */
export async function updatePolicyStatus(
  client: KubernetesClient,
  policies: readonly PolicyObject[],
  now: () => number,
  onProblem: (error: unknown) => void,
): Promise<void> {
  for (const policy of policies) {
    const { name, namespace = "", generation } = policy.metadata;
    const condition: AcceptedCondition = {
      ...conditionFor(policy),
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    };
    const before = writtenCondition(policy);
    if (before && isSame(before, condition)) continue;
    const lastTransitionTime =
      before?.status === condition.status && before.lastTransitionTime !== undefined
        ? before.lastTransitionTime
        : new Date(now()).toISOString();
    const path = `/apis/lameduck.dev/v1alpha1/namespaces/${namespace}/drainpolicies/${name}/status`;
    const status = { observedGeneration: generation, conditions: [{ ...condition, lastTransitionTime }] };
    try {
      await client.patch(path, { status }, "merge-patch");
    } catch (error) {
      // One that the schema refuses by now must not keep the others from being told.
      if (!hasStatus(error, 404, 409)) onProblem(error);
    }
  }
}

function conditionFor(
  policy: PolicyObject,
): Pick<AcceptedCondition, "type" | "status" | "reason" | "message"> {
  const problems = validatePolicy(policy);
  if (problems.length === 0)
    return { type: "Accepted", status: "True", reason: "Valid", message: "every field counts" };
  const message = problems.map(formatProblem).join("; ");
  return { type: "Accepted", status: "False", reason: "Invalid", message: message.slice(0, 4_000) };
}

function writtenCondition({ status }: PolicyObject): AcceptedCondition | undefined {
  const conditions = isMap(status) && Array.isArray(status["conditions"]) ? status["conditions"] : [];
  return (conditions as unknown[]).find((one) => isMap(one) && one["type"] === "Accepted") as
    AcceptedCondition | undefined;
}

function isSame(a: AcceptedCondition, b: AcceptedCondition): boolean {
  return (
    a.status === b.status &&
    a.reason === b.reason &&
    a.message === b.message &&
    a.observedGeneration === b.observedGeneration
  );
}
