import { readFileSync } from "node:fs";
import { fileProblem } from "@lameduck/drain/common";
import { advise, type Advice } from "./advise/advise.ts";
import { advicePatch, renderAdvice } from "./advise/render.ts";
import { sourceOfManifest, type Manifest } from "./advise/manifest.ts";
import { sourceOfRecording } from "./advise/recording.ts";
import type { Source } from "./advise/source.ts";
import { SimulatorError } from "./errors.ts";
import { namedScenarios, type NamedScenarioName } from "./scenario/named.ts";
import { withFlags, type ScenarioFlags } from "./scenario/flags.ts";
import { parseScenario, scenarioFrom, type ParsedScenario } from "./scenario/parse.ts";
import type { ScenarioFile } from "./scenario/schema.ts";
import { simulationPage } from "./simulate/html.ts";
import { simulate, type Simulation } from "./simulate/simulate.ts";
import { renderSimulation } from "./simulate/text.ts";

interface SimulateCommandOptions extends ScenarioFlags {
  /** A scenario file, or the name of a published experiment; without it the flags describe the scenario. */
  readonly scenario?: string | undefined;
  readonly seed?: number | undefined;
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface SimulateOutput {
  readonly text: string;
  readonly json: Simulation;
  readonly html: string;
}

/** `lameduck simulate`: what the settings lose. @throws coded errors with the place. */
export async function simulateCommand(options: SimulateCommandOptions): Promise<SimulateOutput> {
  const { seed = 1, onProgress, signal } = options;
  const result = await simulate({
    ...readScenario(options.scenario, (file) => withFlags(file, options)),
    seed,
    onProgress,
    signal,
  });
  return { text: renderSimulation(result), json: result, html: simulationPage(result) };
}

interface AdviseCommandOptions extends ScenarioFlags {
  readonly scenario?: string | undefined;
  /** A manifest: replicas, strategy, grace period and preStop hook are taken from its workload. */
  readonly manifest?: Manifest | undefined;
  /** Output of `lameduck lab --json`: convergence and rate are taken from it. */
  readonly recording?: string | undefined;
  /** Container of the patch: the manifest's that serves, else "app". */
  readonly container?: string | undefined;
  readonly seed?: number | undefined;
}

interface AdviseOutput {
  readonly text: string;
  readonly json: Advice;
  /** A strategic merge patch, YAML. */
  readonly patch: string;
}

/** `lameduck simulate --advise`: what the settings should be. @throws coded errors with the place. */
export async function adviseCommand(options: AdviseCommandOptions): Promise<AdviseOutput> {
  const { manifest, recording } = options;
  const sources: Source[] = [
    ...(recording === undefined ? [] : [sourceOfRecording(read(recording), recording)]),
    ...(manifest === undefined ? [] : [sourceOfManifest(manifest)]),
  ];
  let said: ScenarioFile = {};
  const { scenario } = readScenario(options.scenario, (file) => {
    said = withFlags(file, options);
    return merged(sources, said, manifest);
  });
  const unknown = sources
    .flatMap((source) => source.unknown)
    .filter(({ isAnswered }) => !isAnswered(said))
    .map(({ sentence }) => sentence);
  const advice = await advise({ scenario, seed: options.seed ?? 1, unknown });
  const container = options.container ?? sources.at(-1)?.container;
  return { text: renderAdvice(advice), json: advice, patch: advicePatch(advice, container) };
}

/** The manifest, which comes last, knows the rollout; the recording the senders and the traffic. What is said wins over both. */
function merged(
  sources: readonly Source[],
  said: ScenarioFile,
  manifest: Manifest | undefined,
): ScenarioFile {
  const found = Object.assign({}, ...sources.map(({ scenario }) => scenario)) as ScenarioFile;
  const { perPod, total } = said.traffic ?? {};
  const traffic = perPod === undefined && total === undefined ? found.traffic : {};
  const file = {
    ...found,
    ...said,
    rollout: { ...found.rollout, ...said.rollout },
    traffic: { ...traffic, ...said.traffic },
    pod: { ...found.pod, ...said.pod },
  };
  if (file.rollout?.kind === "daemon-set" && file.replicas === undefined)
    throw new SimulatorError(
      "LAMEDUCK_SCENARIO_INVALID",
      manifest?.place ?? "scenario",
      "a DaemonSet has a pod on each of its nodes, and does not say how many: give --replicas",
    );
  return file;
}

function readScenario(
  source: string | undefined,
  adjust: (file: ScenarioFile) => ScenarioFile,
): ParsedScenario {
  if (source === undefined) return scenarioFrom(adjust({}));
  if (Object.hasOwn(namedScenarios, source))
    return scenarioFrom(adjust(namedScenarios[source as NamedScenarioName].scenario));
  // The file is checked by itself first, so that its mistakes have a line; flags are applied to what it says.
  return parseScenario(read(source), source, adjust);
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SimulatorError("LAMEDUCK_SCENARIO_UNREADABLE", file, fileProblem(error));
  }
}
