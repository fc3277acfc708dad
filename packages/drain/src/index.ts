export {
  drainDefaults,
  hintsFrom,
  longestHold,
  parseConfig,
  unforeseen,
  type DrainConfig,
} from "./config.ts";
export type { DrainOptions } from "./options.ts";
export type { Decision, Explanation, StopReason } from "./decision.ts";
export { Drain } from "./drain.ts";

export { learn, unusable, type Learnt } from "./belief/learning.ts";
export type { PendingSender } from "./senders/senders.ts";
export { Conditions, type Timeline, type Met } from "./explain/conditions.ts";
export { replay, type Moment, type Replay } from "./explain/replay.ts";
export { optionsOf, parseTrace, type Trace, type TraceHeader } from "./explain/trace.ts";
export { timelineText } from "./explain/timeline-text.ts";
export { longestDuration, parseDuration, formatDuration, type Duration } from "./duration.ts";
export { DrainError, drainErrors, type DrainErrorCode } from "./errors.ts";
export type * from "./observation.ts";
export { priorHypotheses, type Hypothesis } from "./belief/hypotheses.ts";
export { nearest, unknownName } from "./spelling.ts";
