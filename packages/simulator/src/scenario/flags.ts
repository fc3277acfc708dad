import { parseDuration } from "@lameduck/drain";
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
  readonly rate?: number | undefined;
  readonly terminations?: number | undefined;
  readonly grace?: string | undefined;
  readonly prestop?: string | undefined;
  /** poisson, bursty:3 or periodic:0.1. */
  readonly arrivals?: string | undefined;
  /** Clients with addresses of their own, each behind one of the senders. */
  readonly clients?: number | undefined;
  /** Addresses behind which all senders hide. */
  readonly snat?: number | undefined;
  readonly maxSurge?: string | undefined;
  /** Consumers report, and silent ones are left out or waited for. `true`: availability. */
  readonly acknowledgements?: boolean | "availability" | "consistency" | undefined;
  /** How many consumers of each termination do not report. */
  readonly silent?: number | undefined;
  /** How many report before they have converged. */
  readonly lying?: number | undefined;
}

/** @throws {SimulatorError | DrainError} naming the flag. */
export function withFlags(file: ScenarioFile, flags: ScenarioFlags): ScenarioFile {
  const { traffic = {}, pod = {}, rollout = {} } = file;
  const { perPod, total, ...restOfTraffic } = traffic;
  const rates = flags.rate === undefined ? { perPod, total } : { total: flags.rate };
  return {
    ...file,
    ...withoutUndefined({ replicas: flags.replicas, terminations: flags.terminations }),
    ...(flags.senders === undefined ? {} : { senders: sendersOf(flags.senders) }),
    traffic: {
      ...restOfTraffic,
      ...withoutUndefined(rates),
      ...withoutUndefined({ clients: flags.clients, snat: flags.snat }),
      ...(flags.arrivals === undefined ? {} : { arrivals: arrivalsOf(flags.arrivals) }),
    },
    pod: {
      ...pod,
      ...withoutUndefined({
        grace: durationOf(flags.grace, "--grace"),
        prestop: durationOf(flags.prestop, "--prestop"),
      }),
    },
    ...acknowledgementsOf(file, flags),
    rollout: { ...rollout, ...withoutUndefined({ maxSurge: surgeOf(flags.maxSurge) }) },
  };
}

/** A flag that says how consumers behave implies that they report. */
function acknowledgementsOf(
  { acknowledgements }: ScenarioFile,
  { acknowledgements: mode, silent, lying }: ScenarioFlags,
): Pick<ScenarioFile, "acknowledgements"> {
  if (mode === false) return { acknowledgements: undefined };
  const said = withoutUndefined({ mode: mode === true ? undefined : mode, silent, lying });
  return mode || Object.keys(said).length > 0 ? { acknowledgements: { ...acknowledgements, ...said } } : {};
}

function durationOf(text: string | undefined, flag: string): number | undefined {
  return text === undefined ? undefined : parseDuration(text, flag);
}

function surgeOf(text: string | undefined): number | string | undefined {
  if (text === undefined || /^\d{1,3}%$/.test(text)) return text;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new SimulatorError(
    "LAMEDUCK_SCENARIO_INVALID",
    "--max-surge",
    `${JSON.stringify(text)} is neither a number of pods nor a share such as "25%"`,
  );
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

function arrivalsOf(text: string): NonNullable<NonNullable<ScenarioFile["traffic"]>["arrivals"]> {
  if (text === "poisson") return "poisson";
  const match = /^(bursty|periodic):(\d+(?:\.\d+)?)$/.exec(text);
  if (!match)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      "--arrivals",
      `"${text}" is not poisson, bursty:CV or periodic:JITTER`,
    );
  return match[1] === "bursty" ? { bursty: Number(match[2]) } : { periodic: Number(match[2]) };
}
