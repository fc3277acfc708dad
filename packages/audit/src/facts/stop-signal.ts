import type { Container } from "../model/container.ts";
import { stopSignalOfImage } from "../model/software.ts";

/** The signal that the runtime sends first, and who says so. */
export interface StopSignal {
  readonly signal: string;
  readonly from: string;
}

/** @returns undefined where it depends on the image, and the image's configuration was not given. */
export function stopSignalOf(container: Container, kubernetes: number | undefined): StopSignal | undefined {
  const { lifecycle, software, image, imageFacts } = container;
  const own = lifecycle.at("stopSignal").text();
  if (own !== undefined && hasStopSignal(kubernetes)) return { signal: own, from: "lifecycle.stopSignal" };
  if (imageFacts) return { signal: nameOf(imageFacts.stopSignal ?? "SIGTERM"), from: imageFacts.origin };
  const known = software && stopSignalOfImage(software, image);
  return known === undefined ? undefined : { signal: known, from: `STOPSIGNAL of ${image}` };
}

/** The gate ContainerStopSignals (KEP-4960) is off by default before 1.37; the API server drops the field then. */
export function hasStopSignal(kubernetes: number | undefined): boolean {
  return kubernetes !== undefined && kubernetes >= 37;
}

const numbers: Readonly<Record<string, string>> = {
  2: "SIGINT",
  3: "SIGQUIT",
  10: "SIGUSR1",
  12: "SIGUSR2",
  15: "SIGTERM",
  28: "SIGWINCH",
};

function nameOf(text: string): string {
  const upper = text.trim().toUpperCase();
  return numbers[upper] ?? (upper.startsWith("SIG") ? upper : `SIG${upper}`);
}
