/** What coordinator, watcher, webhook and pods say to each other, and what they call alike. */
export { addressOf, canonicalAddress, mentions, usedOf } from "./addresses.ts";
export { bases, type Basis } from "./basis.ts";
export { OperatorError, operatorErrors } from "./errors.ts";
export { isMap } from "./is-map.ts";
export { headLine, isOfVersionOne, readLines, writeLines } from "./lines.ts";
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
export { otherVersion, streamProtocol } from "./versions.ts";
