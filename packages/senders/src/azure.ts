import type { Sender, SenderKind } from "./kind.ts";

const probe = "service.beta.kubernetes.io/azure-load-balancer-health-probe-";

const gateway: Sender = {
  name: "Azure Application Gateway",
  label: "AGIC",
  seconds: 30,
  because: "the controller pushes a new pool, some 30 s",
  knownBy: "an Ingress of class `azure...`",
};

export const azure = {
  name: "azure",
  seen: [gateway],
  programs: [
    {
      who: "Azure's Application Gateway",
      classes: ["azure/application-gateway", "alb.networking.azure.io/"],
      names: /^azure/,
    },
  ],
  ofRoute: (_route, _services, isOwn) => (isOwn ? gateway : undefined),
  nodeChecks: { interval: `${probe}interval`, threshold: `${probe}num-of-probe` },
} as const satisfies SenderKind;
