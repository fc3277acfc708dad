export { LoadError, loadErrors, type LoadErrorCode } from "../load/errors.ts";
export { parseLoad, type Expectation, type LoadOptions, type LoadPlan } from "../load/plan.ts";
export type { Progress } from "../load/protocol.ts";
export { loadProtocols, parseProtocol, protocolTraits, type LoadProtocol } from "../load/protocols.ts";
export { isOwnTarget } from "../load/targets.ts";
export { startFleet, type FleetOptions, type LoadResult, type SenderFleet } from "./fleet.ts";
export { parsePropagation, propagationOf, type Propagation } from "./propagation.ts";
export { senderKinds, type HealthCheck, type SenderKind, type SenderSpec } from "./spec.ts";
