import { annotationOf } from "../model/object.ts";
import type { Rule } from "../rule.ts";

export const serviceUpstream: Rule = {
  id: "service-upstream",
  title: "ingress-nginx sends to the Service instead of its pods",
  meaning: `With \`service-upstream\` nginx knows one address, that of the Service, and kube-proxy chooses the pod. What it buys: nginx need not
reload or hear of endpoints, so that only kube-proxy on the ingress nodes has to let go of a deleted pod. What it costs: a connection that nginx
keeps open stays with its pod, also while that stops; retries may come to the same pod again; sticky sessions and nginx's own balancing are off.
Pods must therefore end kept connections themselves (\`Connection: close\`).`,
  remedy: "Keep it only where the server says Connection: close while it drains (Lameduck does)",
  references: [
    "https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/#service-upstream",
  ],
  *check({ routes }) {
    for (const { name, field } of routes) {
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
