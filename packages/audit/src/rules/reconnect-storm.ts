import { spellSum, sumOf } from "../facts/arithmetic.ts";
import { connectionsOf } from "../facts/connections.ts";
import { ownStopOf, spreadOf } from "../facts/lameduck.ts";
import { servingContainers, exposureOf } from "../facts/serving.ts";
import { surgeOf } from "../facts/surge.ts";
import { assumed, seconds, type Amount } from "../model/amount.ts";
import type { Workload } from "../model/workload.ts";
import type { Rule } from "../rule.ts";

const harmless = assumed(
  "reconnects a second",
  100,
  "a reconnect costs about a millisecond of a processor, most of it for TLS: 100 take a tenth of one",
);

export const reconnectStorm: Rule = {
  id: "reconnect-storm",
  title: "A rollout ends many lasting connections at once",
  meaning: `WebSockets and event streams last until their pod ends. A rolling update ends up to \`maxUnavailable\` + \`maxSurge\` pods at once. Most
programs then end all their connections in the same moment, or lose them at SIGKILL, and all clients connect again in the same second: TLS handshakes,
logins and first queries fall on the pods that are left. The rule speaks only where a manifest says how many connections a pod has: by the annotation
\`lameduck.dev/connections: "250"\`, or as the value of a HorizontalPodAutoscaler's metric of pods that counts connections, sockets or streams.`,
  remedy:
    "End the connections of a pod one after the other: in Node by LAMEDUCK_SPREAD, within a grace period that is as much longer",
  references: [
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment",
  ],
  *check(workload) {
    const connections = connectionsOf(workload);
    const pods = podsAtOnce(workload);
    if (connections === undefined || pods === undefined || exposureOf(workload) === "none") return;
    const count = sumOf(pods);
    const total = count * connections.value;
    const least = Math.ceil(total / harmless.value);
    const spelt = spellSum(pods);
    const ended = `${pods.length > 1 ? `(${spelt})` : spelt} x ${connections.value} ${connections.name} = ${total}`;
    for (const container of servingContainers(workload)) {
      const spread = spreadOf(container);
      // A value that is not in the manifest is not known here.
      if (spread === "not read" || total <= harmless.value * Math.max(1, spread?.value ?? 0)) continue;
      const perSecond = spread && spread.value > 0 ? Math.ceil(total / spread.value) : undefined;
      const grace = Math.ceil(workload.grace.value - (spread?.value ?? 0) + least);
      const isOurs = ownStopOf(container)?.by === "library";
      yield {
        severity: "warning",
        message:
          perSecond === undefined
            ? `a rollout ends up to ${count} ${count === 1 ? "pod" : "pods"} at once, and with ${count === 1 ? "it" : "them"} ${total} connections: all their clients connect again together`
            : `a rollout lets up to ${perSecond} clients a second connect again, for ${seconds(spread!.value)} s`,
        at: spread ? container.envFields.get("LAMEDUCK_SPREAD")! : container.field.at("name"),
        container: container.name,
        arithmetic: {
          sum:
            perSecond === undefined
              ? `${ended} reconnects at once`
              : `${ended}; ${total} / ${seconds(spread!.value)} ${spread!.name} = ${perSecond} > ${harmless.value} ${harmless.name}`,
          terms: [...pods, connections, ...(spread ? [spread] : []), harmless],
        },
        remedy: `${isOurs ? "" : "with @lameduck/node: "}set LAMEDUCK_SPREAD to ${least}s and terminationGracePeriodSeconds to ${grace} (${seconds(workload.grace.value - (spread?.value ?? 0))} + ${least})${isOurs ? ", and LAMEDUCK_GRACE_PERIOD to the same" : ""}; fewer pods at once need less`,
      };
    }
  },
};

/** How many pods end together, in the parts of which it is the sum; undefined where the input does not say. */
function podsAtOnce(workload: Workload): readonly Amount[] | undefined {
  const { object, spec, replicas } = workload;
  const strategy = spec.at("strategy");
  const isCanary = object.kind === "Rollout" && strategy.at("canary").exists;
  if (object.kind === "Deployment" && strategy.at("type").text() === "Recreate") return [replicas];
  if (object.kind !== "Deployment" && object.kind !== "StatefulSet" && !isCanary) return undefined;
  const { unavailable, surge } = surgeOf(workload);
  const parts = [unavailable, surge].filter(({ value }) => value > 0);
  const isAll = sumOf(parts) >= replicas.value;
  return isAll ? [replicas] : parts;
}
