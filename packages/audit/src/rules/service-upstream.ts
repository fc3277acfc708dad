import { ingressNginx, programOfRoute } from "@lameduck/senders";
import { annotationOf } from "../model/object.ts";
import type { Rule } from "../rule.ts";

export const serviceUpstream: Rule = {
  id: "service-upstream",
  title: "ingress-nginx sends to the Service instead of its pods",
  meaning: `With \`service-upstream\` nginx knows one address, that of the Service, and kube-proxy chooses the pod. The advantage: nginx need not
reload for changed endpoints, so only kube-proxy on the ingress nodes has to stop sending to a deleted pod. The price: a connection that nginx keeps
open stays with its pod while that pod stops, retries may reach the same pod again, and sticky sessions and nginx's own balancing are off. Pods must
therefore end kept-alive connections themselves (\`Connection: close\`).`,
  remedy: "Keep it only where the server says Connection: close while it drains (Lameduck does)",
  references: [
    "https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/#service-upstream",
  ],
  *check({ routes }) {
    for (const { name, field, seen } of routes) {
      const program = programOfRoute(seen);
      // Others do not read the annotation.
      if (program !== undefined && program.kind.name !== ingressNginx.name) continue;
      const at = annotationOf(field, "nginx.ingress.kubernetes.io/service-upstream");
      if (at.text() !== "true") continue;
      yield {
        severity: "info",
        message: `${name} keeps connections to stopping pods: only the pods can end them`,
        at,
      };
    }
  },
};
