import { observedPort } from "@lameduck/audit";
import type { InjectionSettings } from "./policy/settings.ts";
import type { ClusterFacts } from "./injection.ts";
import { mapsIn, textOf, type PodView } from "./pod.ts";

/** What makes us believe that requests come to the pod; undefined where nothing does. */
export function exposureOfPod(
  { containers }: PodView,
  { onlyExposed, serves }: Pick<InjectionSettings, "onlyExposed" | "serves">,
  { exposedBy }: Pick<ClusterFacts, "exposedBy">,
): string | undefined {
  if (serves === false) return undefined;
  if (serves === true) return "annotation lameduck.dev/serves";
  if (!onlyExposed) return "onlyExposed is off";
  if (exposedBy !== undefined && exposedBy.length > 0) return exposedBy.join(", ");
  // Pods are often made before their Service: `kubectl apply` of a folder takes deployment.yaml before service.yaml.
  const port = containers
    .flatMap((container) => mapsIn(container["ports"]))
    .find(
      ({ name, protocol }) =>
        (protocol === undefined || protocol === "TCP") && !observedPort.test(textOf(name)),
    );
  return port === undefined ? undefined : `declared port ${String(port["containerPort"])}`;
}
