import type { Container } from "../model/container.ts";
import { signalNamed } from "../model/shell/signals.ts";
import { stopSignalOfImage } from "../model/software.ts";

/** The signal that the runtime sends first, and who says so. */
export interface StopSignal {
  readonly signal: string;
  readonly from: string;
}

/** @returns undefined where it depends on the image, and the image's configuration was not given. */
export function stopSignalOf(container: Container, kubernetes: number | undefined): StopSignal | undefined {
  const { lifecycle, image, imageFacts } = container;
  const own = lifecycle.at("stopSignal").text();
  if (own !== undefined && hasStopSignal(kubernetes)) return { signal: own, from: "lifecycle.stopSignal" };
  if (imageFacts) {
    const { stopSignal, isBaseUnknown, origin } = imageFacts;
    if (stopSignal === undefined && isBaseUnknown) return undefined;
    return { signal: signalNamed(stopSignal ?? "SIGTERM"), from: origin };
  }
  const known = stopSignalOfImage(image);
  return known === undefined ? undefined : { signal: known, from: `STOPSIGNAL of ${image}` };
}

/** The gate ContainerStopSignals (KEP-4960) is off by default before 1.37; the API server drops the field then. */
export function hasStopSignal(kubernetes: number | undefined): boolean {
  return kubernetes !== undefined && kubernetes >= 37;
}
