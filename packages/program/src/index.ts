/** What every program of a cluster is made of. */
export { largestBody, readBody, RequestBodies } from "./body.ts";
export { capPerAddress, capSilent, capTotal, isLoopback } from "./connections.ts";
export {
  badFlag,
  count,
  parseFlags,
  help,
  logLevel,
  type LogLevel,
  logLevels,
  port,
  text,
  texts,
  time,
} from "./flag-values.ts";
export { firstNames, gauge, gauges, processMetrics } from "./gauges.ts";
export { answerHealth, type Health, metricsHandler } from "./health.ts";
export { answerOneAtATime } from "./one-at-a-time.ts";
export { serverFlags, type ServerFlags, serverHelp, serverOptions } from "./server-flags.ts";
export { ownEnvironment, processLog, type Subcommand, subcommand } from "./subcommand.ts";
