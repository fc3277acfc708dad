import { exposureOf, servingContainers } from "../facts/serving.ts";
import type { Container } from "../model/container.ts";
import type { Rule } from "../rule.ts";

export const readinessFailsOnShutdown: Rule = {
  id: "readiness-fails-on-shutdown",
  title: "The pod fails its readiness while it should still serve",
  meaning: `A deletion takes the pod out of its Services. Failing readiness does not make that faster. But if all pods of a Service
terminate at once (a drain, one replica), kube-proxy sends requests to those that are terminating *and still ready*. A hook that makes readiness fail
switches this last resort off. It helps only if a load balancer checks the health of the pod itself.`,
  remedy: "Keep readiness true until the server stops, unless a load balancer checks the pod's health itself",
  references: [
    "https://github.com/kubernetes/enhancements/tree/master/keps/sig-network/1669-proxy-terminating-endpoints",
  ],
  *check(workload) {
    if (exposureOf(workload) === "none") return;
    for (const container of servingContainers(workload)) {
      const file = withdrawnFile(container);
      if (file === undefined) continue;
      yield {
        severity: workload.replicas.value === 1 ? "warning" : "info",
        message: `the preStop hook changes ${file}, which the readiness probe checks: no request can fall back to this pod any more`,
        at: container.hook?.field ?? container.field,
        container: container.name,
      };
    }
  },
};

/** A file that the hook writes or removes, and that the readiness probe looks at. */
function withdrawnFile({ hook, readiness }: Container): string | undefined {
  if (hook?.kind !== "exec" || readiness?.kind !== "exec") return undefined;
  const probe = readiness.command.join(" ");
  const [, path] = /\b(?:rm\s+(?:-\w+\s+)*|touch\s+|>\s*)(\/[\w./-]+)/.exec(hook.text) ?? [];
  return path !== undefined && probe.includes(path) ? path : undefined;
}
