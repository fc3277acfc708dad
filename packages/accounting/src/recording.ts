/** What those need who record a run, in processes of which a run starts many: nothing that accounts for it or reports it. */
export { type RunClock, runClock } from "./model/clock.ts";
export { type Random, random, sfc32 } from "./model/random.ts";
export { phaseIn, type PhaseLine } from "./model/phase-line.ts";
export { modes, outcomes, podSources } from "./model/request.ts";
export { StatusClasses } from "./model/status-classes.ts";
