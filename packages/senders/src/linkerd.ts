import type { SenderKind } from "./kind.ts";
import { asUnmeasured, containerOf, everyService } from "./recognising.ts";

export const linkerd = {
  name: "linkerd",
  recognised: [
    {
      need: "mesh/linkerd",
      who: "Linkerd's sidecars",
      converges: asUnmeasured,
      source: "linkerd/linkerd2: pkg/k8s/labels.go",
      knownBy:
        "a pod with a container `linkerd-proxy` or `linkerd.io/proxy-version`, besides those of Linkerd itself",
      // Its own parts have the sidecar, too, and call nothing but each other.
      ofPod: (pod) =>
        (containerOf(pod, "linkerd-proxy") !== undefined ||
          pod.annotations["linkerd.io/proxy-version"] !== undefined) &&
        pod.labels["linkerd.io/control-plane-component"] === undefined
          ? [everyService]
          : undefined,
    },
  ],
} as const satisfies SenderKind;
