export { advise, type Advice, type Prediction } from "./advise/advise.ts";
export { advicePatch, renderAdvice } from "./advise/render.ts";
export { sourceOfManifest } from "./advise/manifest.ts";
export { sourceOfRecording } from "./advise/recording.ts";
export type { Source } from "./advise/source.ts";
export {
  adviseCommand,
  simulateCommand,
  type AdviseCommandOptions,
  type AdviseOutput,
  type SimulateCommandOptions,
  type SimulateOutput,
} from "./commands.ts";
export { SimulatorError, simulatorErrors, type SimulatorErrorCode } from "./errors.ts";
export { EventQueue, type Action } from "./kernel/event-queue.ts";
export { Random } from "./kernel/random.ts";
export { Simulation as EventSimulation } from "./kernel/simulation.ts";
export {
  draw,
  meanOf,
  type Distribution,
  presets,
  type Preset,
  type PresetName,
} from "@lameduck/load/propagation";
export type { EndpointsModel } from "./model/endpoints.ts";
export type { Forwarder } from "./model/forwarder.ts";
export { defaultEndpoints, type Scenario } from "./model/scenario.ts";
export type { Losses, Outcome } from "./model/termination.ts";
export { namedScenarios, type NamedScenario, type NamedScenarioName } from "./named/scenarios.ts";
export { drained } from "./policies/drained.ts";
export { learning } from "./policies/learning.ts";
export { istio, oracle, wStar } from "./policies/peers.ts";
export type { Contender, Stopper } from "./policies/stopper.ts";
export { run, type Run, type RunOptions } from "./run.ts";
export type { ScenarioFlags } from "./scenario/flags.ts";
export { parseScenario, scenarioFrom, type ParsedScenario } from "./scenario/parse.ts";
export { type ScenarioFile } from "./scenario/schema.ts";
export { simulationPage } from "./simulate/html.ts";
export { simulate, type PolicyResult, type Simulation } from "./simulate/simulate.ts";
export { renderSimulation } from "./simulate/text.ts";
