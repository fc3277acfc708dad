import { withoutUndefined } from "@lameduck/drain/common";
import { SimulatorError } from "../errors.ts";
import { preset as checkPreset } from "./parse.ts";
import type { ScenarioFile } from "./schema.ts";

/** What flags may say about a scenario; each replaces what the file says. */
export interface ScenarioFlags {
  /** "ingress-nginx:3,idle-kube-proxy:40": presets and how many senders of each. */
  readonly senders?: string | undefined;
  readonly replicas?: number | undefined;
  /** New connections per second through the whole service. */
  readonly rps?: number | undefined;
  readonly terminations?: number | undefined;
}

/** @throws {SimulatorError} naming the flag. */
export function withFlags(file: ScenarioFile, flags: ScenarioFlags): ScenarioFile {
  const { traffic = {} } = file;
  const { perPod, total, ...restOfTraffic } = traffic;
  const rates = flags.rps === undefined ? { perPod, total } : { total: flags.rps };
  return {
    ...file,
    ...withoutUndefined({ replicas: flags.replicas, terminations: flags.terminations }),
    ...(flags.senders === undefined ? {} : { senders: sendersOf(flags.senders) }),
    traffic: {
      ...restOfTraffic,
      ...withoutUndefined(rates),
    },
  };
}

function sendersOf(text: string): NonNullable<ScenarioFile["senders"]> {
  return text.split(",").map((part) => {
    const [preset = "", count = "1"] = part.trim().split(":");
    if (!/^[1-9]\d{0,5}$/.test(count))
      throw new SimulatorError(
        "LAMEDUCK_SCENARIO_INVALID",
        "--senders",
        `"${part.trim()}" is not preset or preset:count`,
      );
    checkPreset(preset, "--senders");
    return { preset, count: Number(count) };
  });
}
