/** What pods and the coordinator say to each other: all of the protocol that the library carries inside. */
export {
  type Mode,
  parsePodAnswer,
  type PodAnswer,
  type ReleaseState,
  releaseStates,
  writePodAnswer,
} from "./pod-answer.ts";
export { parsePodReport, type PodReport, writePodReport } from "./pod-report.ts";
