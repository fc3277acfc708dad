export { advise, type Prediction } from "./advise/advise.ts";
export type { Source } from "./advise/source.ts";
export { adviseCommand, simulateCommand } from "./commands.ts";
export { SimulatorError, simulatorErrors } from "./errors.ts";
export { EventQueue, type Action } from "./kernel/event-queue.ts";
export { Random } from "./kernel/random.ts";
export {
  draw,
  meanOf,
  type Distribution,
  presets,
  type Preset,
  type PresetName,
} from "@lameduck/load/propagation";
export type { Forwarder } from "./model/forwarder.ts";
export { defaultEndpoints, type Scenario } from "./model/scenario.ts";
export type { Losses, Outcome } from "./model/outcome.ts";
export { namedScenarios, type NamedScenarioName } from "./named/scenarios.ts";
export { drained } from "./policies/drained.ts";
export { learning } from "./policies/learning.ts";
export { istio, oracle, wStar } from "./policies/peers.ts";
export type { Contender } from "./policies/stopper.ts";
export { run, type Run, type RunOptions } from "./run.ts";
export type { ScenarioFlags } from "./scenario/flags.ts";
export { parseScenario, scenarioFrom } from "./scenario/parse.ts";
export { type ScenarioFile } from "./scenario/schema.ts";
export { simulate, type Simulation } from "./simulate/simulate.ts";
