export { account } from "./account.ts";
export { type RunRecording, buildResults, serialiseResults } from "./model/document.ts";
export type { Interval, LostRequest, Quantiles, RemedyResult, Results } from "./model/results.ts";
export { type Cause, causes } from "./model/cause.ts";
export { compareRuns, type ComparedRemedy, type ComparedRuns, significance } from "./comparison.ts";
export { podLives } from "./evidence/pod-life.ts";
export { mergeRuns } from "./merge.ts";
export { type RunClock, runClock } from "./model/clock.ts";
export type { Endpoint, EndpointListener } from "./model/endpoints.ts";
export { type Random, random, sfc32 } from "./model/random.ts";
export {
  type ConnectionMode,
  type Outcome,
  type RequestKind,
  type RequestRecord,
  type ScheduledKind,
  modes,
  outcomes,
  podSources,
} from "./model/request.ts";
export { StatusClasses } from "./model/status-classes.ts";
export { stopReasons } from "./model/stop-reasons.ts";
export type { PodEvent, SenderEvent } from "./model/timeline.ts";
export { percent } from "./report/figures.ts";
export { htmlReport, legend } from "./report/html/page.ts";
export { type ObservedTermination, terminationFigure } from "./report/html/termination-picture.ts";
export { junitReport } from "./report/junit.ts";
export { markdownReport, markdownRow, markdownText } from "./report/markdown.ts";
export { comparisonText } from "./report/table.ts";
export { heldAgainstPods, verdictOf } from "./report/verdict.ts";
export type { Wording } from "./report/explanations.ts";
export { average, boundAfterNone, quantile, quantiles, withoutDrawing } from "./statistics.ts";
export { linear, logWithZero, type Scale } from "./report/html/scale.ts";
export {
  dashOf,
  plot,
  plotSize,
  plotted,
  sampleOf,
  type PlotOptions,
  type Series,
} from "./report/html/plot.ts";
export { skippedRemedy } from "./summary.ts";
export { count, spell, whole } from "./words.ts";
