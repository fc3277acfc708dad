import { exposureOf } from "../facts/serving.ts";
import { obstacleOf, onHost } from "../facts/second-pod.ts";
import { surgeOf } from "../facts/surge.ts";
import type { Rule } from "../rule.ts";

export const replacedInPlace: Rule = {
  id: "replaced-in-place",
  title: "The old pod has to be gone before the new one starts",
  meaning: `A StatefulSet starts a new pod only when the old one is gone. A DaemonSet without \`maxSurge\` does the same. A host port belongs to
one pod of a node, a ReadWriteOnce volume to one node: a new pod of a Deployment waits for them, or two pods write one volume. Such a pod is alone by
design. With one replica no pod serves in between, however the old pod stops. If traffic
is bound to the node (\`Local\`), no pod serves on that node.`,
  remedy:
    "Run several replicas; for a DaemonSet set updateStrategy.rollingUpdate.maxSurge, where it has no host port",
  references: ["https://kubernetes.io/docs/tasks/manage-daemon/update-daemon-set/"],
  symptom: { causes: ["C9"] },
  *check(workload) {
    if (exposureOf(workload) === "none") return;
    const { object, spec, replicas, services } = workload;
    const name = object.field.at("metadata").at("name");
    const host = onHost(workload);
    if (object.kind === "StatefulSet" && replicas.value === 1 && exposureOf(workload) === "service")
      yield {
        severity: "warning",
        message: "a StatefulSet of one pod: from its end to the start of the next no pod serves",
        at: spec.at("replicas").exists ? spec.at("replicas") : name,
        remedy: "run several replicas, if the program can share its work among them",
      };
    const local = services.find(({ field }) =>
      ["externalTrafficPolicy", "internalTrafficPolicy"].some(
        (key) => field.at("spec").at(key).text() === "Local",
      ),
    );
    const surge = spec.at("updateStrategy").at("rollingUpdate").at("maxSurge").numberOrText() ?? 0;
    if (object.kind === "DaemonSet" && /^0%?$/.test(String(surge)) && (local ?? host))
      yield {
        severity: "info",
        message: `${local ? `${local.name} keeps traffic on its node` : "its ports belong to the node"}: during an update no pod serves on the node`,
        at: host ?? name,
        remedy: host
          ? "let the load balancer leave the node out first; a pod with a host port cannot surge"
          : "set updateStrategy.rollingUpdate.maxSurge to 1, and maxUnavailable to 0",
      };
    if (object.type !== "apps/Deployment" || spec.at("strategy").at("type").text() === "Recreate") return;
    const obstacle = obstacleOf(workload);
    if (surgeOf(workload).unavailable.value > 0 || obstacle === undefined || obstacle.kind === "unknown")
      return;
    // Two servers of one store for a moment: whether that is a fault depends on where its data are.
    if (obstacle.kind === "alone" && obstacle.at.path.endsWith(".name")) return;
    yield {
      severity: "info",
      message:
        obstacle.kind === "place"
          ? `a rollout starts a pod before it stops one, and ${obstacle.because}: without room for it the rollout cannot go on`
          : `a rollout starts a pod before it stops one, although it is alone by design: ${obstacle.because}`,
      at: obstacle.at,
      remedy:
        obstacle.kind === "place"
          ? `see that ${obstacle.unless}, or allow maxUnavailable: 1`
          : "use the strategy Recreate, so that no two pods write it and none waits for it; requests in between are lost",
    };
  },
};
