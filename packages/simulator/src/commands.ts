import { readFileSync } from "node:fs";
import { advise, type Advice } from "./advise/advise.ts";
import { advicePatch, renderAdvice } from "./advise/render.ts";
import { scenarioOfManifest, scenarioOfRecording } from "./advise/sources.ts";
import { SimulatorError } from "./errors.ts";
import { namedScenarios, type NamedScenarioName } from "./named/scenarios.ts";
import { withFlags, type ScenarioFlags } from "./scenario/flags.ts";
import { parseScenario, scenarioFrom, type ParsedScenario } from "./scenario/parse.ts";
import type { ScenarioFile } from "./scenario/schema.ts";
import { simulationPage } from "./simulate/html.ts";
import { simulate, type Simulation } from "./simulate/simulate.ts";
import { renderSimulation } from "./simulate/text.ts";

export interface SimulateCommandOptions extends ScenarioFlags {
  /** A scenario file, or the name of a published experiment; without it the flags describe the scenario. */
  readonly scenario?: string | undefined;
  readonly seed?: number | undefined;
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface SimulateOutput {
  readonly text: string;
  readonly json: Simulation;
  readonly html: string;
}

/** `lameduck simulate`: what the settings lose. @throws coded errors with the place. */
export async function simulateCommand(options: SimulateCommandOptions): Promise<SimulateOutput> {
  const { seed = 1, onProgress, signal } = options;
  const result = await simulate({ ...readScenario(options.scenario, options), seed, onProgress, signal });
  return { text: renderSimulation(result), json: result, html: simulationPage(result) };
}

export interface AdviseCommandOptions extends ScenarioFlags {
  readonly scenario?: string | undefined;
  /** A manifest: replicas, strategy and grace period are taken from its workload. */
  readonly manifest?: string | undefined;
  /** Output of `lameduck lab --json` or `lameduck rollout --json`: convergence and rate are taken from it. */
  readonly recording?: string | undefined;
  /** Container to which the patch adds settings. Default "app". */
  readonly container?: string | undefined;
  readonly seed?: number | undefined;
}

export interface AdviseOutput {
  readonly text: string;
  readonly json: Advice;
  /** A strategic merge patch, YAML. */
  readonly patch: string;
}

/** `lameduck advise`: what the settings should be. @throws coded errors with the place. */
export async function adviseCommand(options: AdviseCommandOptions): Promise<AdviseOutput> {
  const { manifest, recording } = options;
  const sources: ScenarioFile[] = [
    ...(recording === undefined ? [] : [scenarioOfRecording(read(recording), recording)]),
    ...(manifest === undefined ? [] : [scenarioOfManifest(read(manifest), manifest)]),
  ];
  // The manifest knows the rollout, the recording the senders and the traffic.
  const merged: ScenarioFile | undefined = sources.length === 0 ? undefined : Object.assign({}, ...sources);
  const { scenario } =
    merged === undefined ? readScenario(options.scenario, options) : scenarioFrom(withFlags(merged, options));
  const advice = await advise({ scenario, seed: options.seed ?? 1 });
  return { text: renderAdvice(advice), json: advice, patch: advicePatch(advice, options.container) };
}

function readScenario(source: string | undefined, flags: ScenarioFlags): ParsedScenario {
  if (source === undefined) return scenarioFrom(withFlags({}, flags));
  if (Object.hasOwn(namedScenarios, source))
    return scenarioFrom(withFlags(namedScenarios[source as NamedScenarioName].scenario, flags));
  // The file is checked by itself first, so that its mistakes have a line; flags are applied to what it says.
  return parseScenario(read(source), source, (file) => withFlags(file, flags));
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    throw new SimulatorError("LAMEDUCK_SCENARIO_UNREADABLE", file, `cannot be read (${code})`);
  }
}
