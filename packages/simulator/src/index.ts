export { adviseCommand, simulateCommand } from "./commands.ts";
export { SimulatorError, simulatorErrors } from "./errors.ts";
export { namedScenarios } from "./named/scenarios.ts";
export type { ScenarioFlags } from "./scenario/flags.ts";
