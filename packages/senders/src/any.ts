import { classOf, isIngress, type Sender, type SenderKind } from "./kind.ts";

const gateway: Sender = {
  name: "gateway",
  label: "gateway",
  seconds: 10,
  because: "proxies that watch endpoints take 3 to 10 s",
  knownBy: "a route of the Gateway API",
};

const ingress: Sender = {
  name: "ingress proxy",
  label: "ingress",
  seconds: 10,
  because: "a proxy that watches endpoints takes 3 to 10 s",
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
