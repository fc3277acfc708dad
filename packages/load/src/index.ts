export { LoadError, loadErrors, type LoadErrorCode } from "./errors.ts";
export { Child } from "./generator/child.ts";
export { ReadTable, type RecordNews } from "./generator/records.ts";
export { RunningGenerator } from "./generator/running.ts";
export { serveParent } from "./generator/ipc.ts";
export type { GeneratorSender, PodCount, Progress } from "./generator/protocol.ts";
export type { BareSenderEvent } from "./senders/sender.ts";
export { inClusterErrors, type InClusterErrorCode } from "./in-cluster/errors.ts";
export { InClusterLoad } from "./in-cluster/in-cluster-load.ts";
export { type InClusterOptions, checkInClusterOptions, defaultImage } from "./in-cluster/options.ts";
export { inClusterRules } from "./in-cluster/job.ts";
export { type LoadOptions, type LoadPlan, parseLoad } from "./plan.ts";
export { Propagator, drawsFrom } from "./senders/propagator.ts";
export { type Propagation, parsePropagation, propagationOf } from "./propagation/propagation.ts";
export { connects } from "./protocols/connects.ts";
export { cut } from "./protocols/socket.ts";
export { type LoadProtocol, loadProtocols, protocolTraits } from "./protocols.ts";
export { requestsLoad } from "./requests-file/requests-load.ts";
export type { LoadSeen, LoadSource } from "./routes/load-source.ts";
export { RouteLoad } from "./routes/route-load.ts";
export { type OpenRoute, type Route, type RouteManner, openRoute, parseRoutes } from "./routes/route.ts";
export { type Change, type EndpointState, EndpointView } from "./senders/view.ts";
export { checkSenders } from "./senders/check.ts";
export { reportChoice } from "./senders/chooser.ts";
export { Learner } from "./senders/learner.ts";
export {
  type HaproxySpec,
  type L7Spec,
  type NginxSpec,
  type ProxySpec,
  type SenderKind,
  type SenderSpec,
  isProxy,
  senderKinds,
} from "./senders/spec.ts";
export { isOwnTarget, requireOwnTarget } from "./targets.ts";
export { requestsErrors } from "./requests-file/errors.ts";
export { shownUrl } from "./routes/url.ts";
export { type Judgement, judge, manyFailures } from "./worked.ts";
export { lastWords } from "./answer.ts";
export { perConnectionHeaders } from "./request-form.ts";
