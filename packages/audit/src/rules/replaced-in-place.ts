import { exposureOf } from "../facts/serving.ts";
import { surgeOf } from "../facts/surge.ts";
import type { Rule } from "../rule.ts";

export const replacedInPlace: Rule = {
  id: "replaced-in-place",
  title: "The old pod has to be gone before the new one starts",
  meaning: `A StatefulSet starts a new pod only when the old one is gone. A DaemonSet without \`maxSurge\` does the same. A host port belongs to
one pod of a node, so a new pod of a Deployment waits for a free node. With one replica no pod serves in between, however the old pod stops. If traffic
is bound to the node (\`Local\`), no pod serves on that node.`,
  remedy:
    "Run several replicas; for a DaemonSet set updateStrategy.rollingUpdate.maxSurge, where it has no host port",
  references: ["https://kubernetes.io/docs/tasks/manage-daemon/update-daemon-set/"],
  *check(workload) {
    if (exposureOf(workload) === "none") return;
    const { object, spec, pod, replicas, services, containers } = workload;
    const name = object.field.at("metadata").at("name");
    const hostPort = containers.flatMap(({ ports, field }) =>
      ports.some(({ host }) => host !== undefined) ? [field.at("ports")] : [],
    )[0];
    const onHost = pod.at("hostNetwork").isTrue() ? pod.at("hostNetwork") : hostPort;
    if (object.kind === "StatefulSet" && replicas.value === 1 && exposureOf(workload) === "service")
      yield {
        severity: "warning",
        message: "a StatefulSet of one pod: from its end to the start of the next no pod serves",
        at: spec.at("replicas").exists ? spec.at("replicas") : name,
      };
    const local = services.find(({ field }) =>
      ["externalTrafficPolicy", "internalTrafficPolicy"].some(
        (key) => field.at("spec").at(key).text() === "Local",
      ),
    );
    const surge = spec.at("updateStrategy").at("rollingUpdate").at("maxSurge").numberOrText() ?? 0;
    if (object.kind === "DaemonSet" && /^0%?$/.test(String(surge)) && (local ?? onHost))
      yield {
        severity: "info",
        message: `${local ? `${local.name} keeps traffic on its node` : "its ports belong to the node"}: during an update no pod serves on the node`,
        at: onHost ?? name,
        ...(onHost
          ? { remedy: "let the load balancer leave the node out first; a pod with a host port cannot surge" }
          : {}),
      };
    if (
      object.type === "apps/Deployment" &&
      onHost &&
      spec.at("strategy").at("type").text() !== "Recreate" &&
      surgeOf(workload).unavailable.value === 0
    )
      yield {
        severity: "info",
        message:
          "a new pod needs a node on which the host's port is free: with as many replicas as nodes the rollout cannot go on",
        at: onHost,
        remedy: "keep one node more than replicas, or allow maxUnavailable: 1",
      };
  },
};
