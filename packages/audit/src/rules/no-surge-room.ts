import { replaceScalar, type Field } from "@lameduck/manifests";
import { exposureOf } from "../facts/serving.ts";
import { aloneRemedy, obstacleOf, type Obstacle } from "../facts/second-pod.ts";
import { surgeOf } from "../facts/surge.ts";
import { fixOf } from "./edits.ts";
import type { Workload } from "../model/workload.ts";
import type { Rule } from "../rule.ts";

export const noSurgeRoom: Rule = {
  id: "no-surge-room",
  title: "A rollout takes pods away before others are ready",
  meaning: `\`maxUnavailable\` is rounded down and \`maxSurge\` is rounded up. With few replicas this is decisive: with \`maxUnavailable: 1\` and
one replica no pod serves during a rollout, while 25 % of three replicas is 0 and harmless. \`Recreate\` stops all pods before it starts the first new
one. An Argo Rollout with \`canary\` counts as a Deployment does. A StatefulSet has no surge, and its \`maxUnavailable\` counts only if the gate
MaxUnavailableStatefulSet is on (Kubernetes 1.36 drops it). While fewer pods serve than before, the others carry their load. While none serves, all
requests are lost.`,
  remedy: "Set maxUnavailable to 0 and maxSurge to 1 or more",
  references: ["https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable"],
  symptom: { causes: ["C9", "C8"] },
  *check(workload) {
    const { object, spec, replicas } = workload;
    if (!replacesPods(workload) || exposureOf(workload) === "none" || replicas.value === 0) return;
    const type = spec.at("strategy").at("type");
    const obstacle = obstacleOf(workload);
    const alone = obstacle?.kind === "alone" ? obstacle.because : undefined;
    if (object.kind === "Deployment" && type.text() === "Recreate") {
      yield {
        severity: alone === undefined ? "warning" : "info",
        message: `Recreate stops all pods before the first new one starts: every request in between is lost${alone === undefined ? "" : `; it is right here, since the pod is alone by design (${alone})`}`,
        at: type,
        remedy: alone === undefined ? ifPossible(surging, obstacle) : aloneRemedy,
      };
      return;
    }
    const { unavailable, surge, unavailableField, surgeField } = surgeOf(workload);
    if (isNone(unavailableField) && isNone(surgeField)) {
      yield {
        severity: "error",
        message:
          "maxSurge and maxUnavailable are both 0: the API server refuses it, as no pod could be replaced",
        at: surgeField,
        ...(obstacle === undefined
          ? { remedy: "set maxSurge to 1", ...fixOf("maxSurge 1", [replaceScalar(surgeField, "1")]) }
          : {
              remedy: `set maxUnavailable to 1: ${obstacle.because}`,
              ...fixOf("maxUnavailable 1", [replaceScalar(unavailableField, "1")]),
            }),
      };
      return;
    }
    const least = replicas.value - unavailable.value;
    if (least >= 1 && least >= replicas.value / 2) return;
    // A pod that is alone is the matter of replaced-in-place.
    const isOrdered = object.kind === "StatefulSet";
    if (isOrdered && replicas.value === 1) return;
    yield {
      // Who leaves replicas out often leaves them to an autoscaler that is not in the input.
      severity:
        isOrdered || alone !== undefined
          ? "info"
          : least < 1 && replicas.origin.kind !== "default"
            ? "error"
            : "warning",
      message: `${
        least < 1
          ? `a rollout may take ${replicas.value === 1 ? "the only pod" : `all ${replicas.value} pods`} away before another one is ready`
          : `a rollout may leave ${least} of ${replicas.value} pods to carry the load`
      }${isOrdered ? ", where the cluster has the gate MaxUnavailableStatefulSet" : ""}${obstacle === undefined ? "" : `; ${obstacle.kind === "alone" ? `it is alone by design: ` : ""}${obstacle.because}`}`,
      at: unavailableField.exists ? unavailableField : spec.at("replicas"),
      arithmetic: {
        sum: `${replicas.value} ${replicas.name} - ${unavailable.value} ${unavailable.name} = ${least} ${least === 1 ? "pod that serves" : "pods that serve"}; maxSurge ${surge.value}`,
        terms: [replicas, unavailable, surge],
      },
      ...(isOrdered || (obstacle !== undefined && unavailable.value > 1)
        ? {
            remedy: "set maxUnavailable to 1",
            ...fixOf("maxUnavailable 1", [replaceScalar(unavailableField, "1")]),
          }
        : obstacle === undefined
          ? {}
          : { remedy: alone === undefined ? ifPossible(surging, obstacle) : aloneRemedy }),
      // The API server refuses 0 for both.
      ...(surge.value > 0 && obstacle === undefined
        ? fixOf("maxUnavailable 0", [replaceScalar(unavailableField, "0")])
        : {}),
      ...(surge.value === 0 && surgeField.exists && obstacle === undefined
        ? fixOf("maxUnavailable 0, maxSurge 1", [
            replaceScalar(unavailableField, "0"),
            replaceScalar(surgeField, "1"),
          ])
        : {}),
    };
  },
};

const surging = "use a RollingUpdate with maxUnavailable 0 and maxSurge 1 or more";

/** Remedies that help only where a second pod can run beside the first one. */
function ifPossible(remedy: string, obstacle: Obstacle | undefined): string {
  return obstacle === undefined ? remedy : `${remedy}, if ${obstacle.unless}`;
}

/** By its own budget of pods. A Rollout does so as a canary; blue and green stand side by side. */
function replacesPods({ object: { type }, spec }: Workload): boolean {
  if (type === "argoproj.io/Rollout") return spec.at("strategy").at("canary").exists;
  const ordered = spec.at("updateStrategy");
  if (type === "apps/StatefulSet")
    return (
      ordered.at("type").text() !== "OnDelete" && ordered.at("rollingUpdate").at("maxUnavailable").exists
    );
  return type === "apps/Deployment";
}

function isNone(field: Field): boolean {
  return field.exists && Number.parseInt(String(field.numberOrText()), 10) === 0;
}
