export { adviseCommand, simulateCommand } from "./commands.ts";
export { rolledKinds } from "./advise/manifest.ts";
export { simulatorErrors } from "./errors.ts";
export { namedScenarios } from "./scenario/named.ts";
export type { ScenarioFlags } from "./scenario/flags.ts";
