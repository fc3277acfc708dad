import { errorClass } from "@lameduck/drain/common";

/** Every way a scenario can be wrong. The same codes stand in docs/reference/errors.md. */
export const simulatorErrors = {
  LAMEDUCK_SCENARIO_UNREADABLE: "name a file that exists and may be read",
  LAMEDUCK_SCENARIO_SYNTAX: "correct the YAML or JSON at this place",
  LAMEDUCK_SCENARIO_INVALID: "correct the field at this place; docs/tools/simulate.md lists all fields",
  LAMEDUCK_SCENARIO_IMPOSSIBLE: "change one of the two values",
  LAMEDUCK_UNKNOWN_PRESET: "choose one of the presets listed, or describe the senders with `convergence`",
} as const;

/** A mistake in a scenario: `code` is stable, `place` is file:line:column or an option, `remedy` says what to do. */
export class SimulatorError extends errorClass(simulatorErrors) {}
