import type { ObjectKind, SenderKind } from "./kind.ts";
import { asProxies, namedAt } from "./recognising.ts";

/** Whom Envoy asks before or beside a request. */
const policy = (kind: string, plural: string): ObjectKind => ({
  group: "gateway.envoyproxy.io",
  versions: ["v1alpha1"],
  kind,
  plural,
  read: namedAt("backendRef", "backendRefs"),
});

export const envoy = {
  name: "envoy",
  serves: "class",
  programs: [
    {
      who: "Envoy of Envoy Gateway",
      classes: ["gateway.envoyproxy.io/"],
      // Its rate limiter is no proxy.
      isProxy: ({ labels }) =>
        labels["app.kubernetes.io/managed-by"] === "envoy-gateway" &&
        labels["app.kubernetes.io/component"] !== "ratelimit",
      consumer: "envoy=http://127.0.0.1:19000",
      needs: "Envoy Gateway makes the pods: give the container to an `EnvoyProxy`",
    },
  ],
  recognised: [
    {
      need: "proxy/envoy-gateway",
      who: "Envoy of Envoy Gateway, for authorisation and extensions",
      reader: "envoy=http://127.0.0.1:19000",
      converges: asProxies,
      source: "envoyproxy/gateway: api/v1alpha1/ext_auth_types.go, ext_proc_types.go",
      objects: [
        policy("SecurityPolicy", "securitypolicies"),
        policy("EnvoyExtensionPolicy", "envoyextensionpolicies"),
      ],
    },
  ],
  consumer: {
    usage: "envoy=URL",
    help: "administration interface, such as http://127.0.0.1:9901 or a Unix socket's path",
    reads: [
      {
        what: "`/clusters`, `/stats`, `/server_info` of the administration interface; its thresholds of panic",
        letGoWhen:
          "no cluster lists it, or it drains and Envoy is not in panic mode; and each worker has turned since",
      },
    ],
  },
} as const satisfies SenderKind;
