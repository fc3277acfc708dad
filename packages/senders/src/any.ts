import { classOf, isIngress, type Sender, type SenderKind } from "./kind.ts";
import { asProxies } from "./recognising.ts";

const gateway: Sender = {
  name: "gateway",
  label: "gateway",
  ...asProxies,
  knownBy: "a route of the Gateway API",
};

const ingress: Sender = {
  name: "ingress proxy",
  label: "ingress",
  ...asProxies,
  knownBy: "any other Ingress",
};

/** What stands behind a route that no kind before it calls its own. */
export const anyProxy = {
  name: "proxy",
  seen: [ingress, gateway],
  ofRoute: (route) => {
    if (!isIngress(route)) return gateway;
    const name = classOf(route);
    return name === "" ? ingress : { ...ingress, name: `${ingress.name} (${name})` };
  },
} as const satisfies SenderKind;
