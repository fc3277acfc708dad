import type { Rule } from "../rule.ts";

export const publishNotReady: Rule = {
  id: "publish-not-ready",
  title: "The Service sends to pods that are not ready, and to those that stop",
  meaning: `With \`publishNotReadyAddresses\` an endpoint counts as ready for as long as its pod exists: before the server listens, while its
readiness fails, and through the whole termination. kube-proxy does not remove a terminating pod before it is gone. The field is meant for headless
Services by which the members of a StatefulSet find each other. Clients need a second Service without it.`,
  remedy: "Remove the field, or make a second Service for clients",
  references: ["https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/"],
  *check({ services }) {
    const others = services.filter(({ field }) => !field.at("spec").at("publishNotReadyAddresses").isTrue());
    for (const { name, field } of services) {
      const at = field.at("spec").at("publishNotReadyAddresses");
      if (!at.isTrue()) continue;
      const isHeadless = field.at("spec").at("clusterIP").text() === "None";
      if (isHeadless && others.length > 0) continue;
      yield {
        severity: isHeadless ? "info" : "warning",
        message: isHeadless
          ? `clients of the headless Service ${name} resolve pods that are not ready, and those that stop`
          : `${name} goes on sending to a pod through its whole termination`,
        at,
      };
    }
  },
};
