/** What coordinator, watcher, webhook and pods say to each other, and what they call alike. */
export { addressOf, canonicalAddress, mentions, usedOf } from "./addresses.ts";
export { bases, type Basis } from "./basis.ts";
export { OperatorError, operatorErrors } from "./errors.ts";
export {
  type ConsumerReport,
  type ConsumerState,
  mostRanges,
  type NumberRange,
  type OtherVersionMessage,
  parseConsumerReport,
  writeConsumerReport,
} from "./consumer-report.ts";
export {
  type CoordinatorAnswer,
  otherVersionIn,
  parseCoordinatorAnswer,
  type Withdrawal,
  writeCoordinatorAnswer,
  writeRefusal,
} from "./coordinator-answer.ts";
export { isMap } from "./is-map.ts";
export { headLine } from "./lines.ts";
export {
  apiPath,
  apiVersion,
  initVolumePath,
  consumerAccount,
  coordinatorVariable,
  declining,
  endAnnotation,
  endAnnotationValue,
  heldMark,
  holdLabel,
  initFile,
  injectedAnnotation,
  injectLabel,
  lameduckVersion,
  oldestKubernetes,
  operatorNames,
  probeAnnotation,
  registerFile,
} from "./names.ts";
export * from "./pod.ts";
export {
  LineReader,
  parseStreamAnswer,
  streamAcceptance,
  type StreamAnswer,
  streamProtocol,
  writeStreamAnswer,
} from "./stream.ts";
export { otherVersion } from "./versions.ts";
