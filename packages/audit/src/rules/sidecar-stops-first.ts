import { compare } from "../facts/arithmetic.ts";
import { needOf } from "../facts/companions.ts";
import { holdOf, type Hold } from "../facts/hold.ts";
import { injectedProxyOf, type InjectedProxy } from "../facts/mesh.ts";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import type { RuleFinding } from "../finding.ts";
import { seconds } from "../model/amount.ts";
import type { Container } from "../model/container.ts";
import type { Rule } from "../rule.ts";

/** A hold by evidence lasts this long at most, unless set otherwise. */
const usualCapSeconds = 25;

export const sidecarStopsFirst: Rule = {
  id: "sidecar-stops-first",
  title: "A container that the app needs stops before the app",
  meaning: `The kubelet stops all ordinary containers of a pod at the same time, each after its own preStop hook. A hook of the app delays only the
app's own SIGTERM. A proxy beside it ends at once, Istio's after its
\`terminationDrainDuration\` of 5 s. The app goes on serving for some seconds, but without its database, its identity or its way out. PHP-FPM
behind nginx is the same the other way round: nginx holds, and answers 502. A native sidecar (an init container with
\`restartPolicy: Always\`, since Kubernetes 1.29) is stopped after all ordinary containers. A mesh injects its proxy when the pod is made. Whether it is
a native sidecar is the mesh's own setting: Istio's default since 1.27, and not Linkerd's. The audit asks.`,
  remedy:
    "Make it a native sidecar: move it to initContainers with restartPolicy: Always; or give it the app's hook",
  references: [
    "https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/",
    "https://linkerd.io/2/tasks/graceful-shutdown/",
    "https://learn.microsoft.com/azure/aks/istio-native-sidecar",
  ],
  *check(workload, { facts, inventory }) {
    if (exposureOf(workload) === "none") return;
    const serving = servingContainers(workload);
    const holds = serving.map((container) => holdOf(workload, container, facts));
    const longest = Math.max(0, ...holds.map(({ least }) => least));
    const byEvidence = holds.some(({ kind }) => kind === "evidence");
    if (longest === 0 && !byEvidence) return;
    const proxy = injectedProxyOf(workload, inventory);
    const lasts = longest === 0 ? usualCapSeconds : longest;
    if (proxy !== undefined && !proxy.hold.untilIdle && proxy.hold.amount.value < lasts)
      yield unknownOf(proxy, longest, serving);
    for (const container of workload.containers) {
      if (serving.includes(container)) continue;
      const own = holdOf(workload, container, facts);
      if (own.kind !== "fixed" || own.least >= Math.max(longest, 1)) continue;
      const need = needOf(container, serving);
      if (need === "not needed") continue;
      const parts = holds.find(({ least }) => least === longest)?.parts ?? [];
      yield {
        severity: need === "needed" ? "warning" : "info",
        message: `${container.name} ${spellEnd(own)}, while ${names(serving)} ${
          byEvidence && longest === 0 ? "goes on serving" : `goes on serving for ${seconds(longest)} s`
        }`,
        at: container.field.at("name"),
        container: container.name,
        ...(own.parts.some(({ name }) => name === "terminationDrainDuration")
          ? {
              remedy: `make it a native sidecar, or annotate the pods: proxy.istio.io/config: "terminationDrainDuration: ${seconds(Math.ceil(longest))}s"`,
            }
          : {}),
        ...(longest > 0
          ? {
              arithmetic: compare(own.parts, "<", {
                ...(parts[0] ?? { origin: { kind: "assumption", because: "the app's hold" } }),
                name: "hold of the app",
                value: longest,
              }),
            }
          : {}),
      };
    }
  },
};

/** Whether it is a native sidecar is the mesh's own setting. */
function unknownOf(
  { mesh, at, hold, remedies }: InjectedProxy,
  longest: number,
  serving: readonly Container[],
): RuleFinding {
  const { value } = hold.amount;
  const ends = value === 0 ? "gets SIGTERM at once" : `ends after ${seconds(value)} s`;
  const app = `${names(serving)} ${longest === 0 ? "goes on serving" : `goes on serving for ${seconds(longest)} s`}`;
  return {
    severity: "unknown",
    at,
    message: `whether the proxy that ${mesh} injects stays while ${app}: it ${ends}, unless it is a native sidecar`,
    answers: [
      ...remedies(Math.ceil(longest || usualCapSeconds)),
      'annotation lameduck.dev/ignore-sidecar-stops-first: "it is native"',
    ],
  };
}

/** Its hook, then what it does of its own. */
function spellEnd({ parts, least }: Hold): string {
  if (least === 0) return "gets SIGTERM at once";
  const own = parts.find(({ name }) => name !== "preStop");
  return own ? `ends after ${seconds(least)} s` : `gets SIGTERM after ${seconds(least)} s`;
}

function names(containers: readonly Container[]): string {
  return containers.map(({ name }) => name).join(" and ");
}
