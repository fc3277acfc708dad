import type { SenderKind } from "./kind.ts";
import { asProxies, byClass, containerOf, namedAt } from "./recognising.ts";

export const contour = {
  name: "contour",
  programs: [
    {
      who: "Envoy of Contour",
      classes: ["projectcontour.io/"],
      isProxy: (pod) =>
        containerOf(pod, "envoy") !== undefined &&
        containerOf(pod, "shutdown-manager", "envoy-initconfig") !== undefined,
      consumer: "envoy=http://127.0.0.1:9001",
      needs: "`network.admin-port` of Contour is 9001, as by default",
    },
  ],
  recognised: [
    {
      need: "proxy/contour",
      who: "Envoy of Contour",
      reader: "envoy=http://127.0.0.1:9001",
      converges: asProxies,
      source: "projectcontour/contour: apis/projectcontour",
      objects: [
        {
          group: "projectcontour.io",
          versions: ["v1"],
          kind: "HTTPProxy",
          plural: "httpproxies",
          read: byClass(namedAt("services", "service")),
        },
        {
          group: "projectcontour.io",
          versions: ["v1alpha1"],
          kind: "ExtensionService",
          plural: "extensionservices",
          read: namedAt("services"),
        },
      ],
    },
  ],
} as const satisfies SenderKind;
