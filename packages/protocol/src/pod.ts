/** What pods and the coordinator say to each other: all of the protocol that the library carries inside. */
/** Where a pod is asked about, as PATH/NAMESPACE/NAME?uid=UID. */
export const podsPath = "/v1/pods";

export * from "./pod-answer.ts";
export * from "./pod-report.ts";
