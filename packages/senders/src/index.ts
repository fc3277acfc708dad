/** Facts of each kind of sender, and the questions about all kinds. */
export { aws } from "./aws.ts";
export { cilium } from "./cilium.ts";
export { envoy } from "./envoy.ts";
export { gcp } from "./gcp.ts";
export { haproxy } from "./haproxy.ts";
export { http } from "./http.ts";
export { kubeProxy } from "./kube-proxy.ts";
export { nginx } from "./nginx.ts";
export { traefik } from "./traefik.ts";
export {
  type Annotations,
  annotationsOf,
  type ConsumerFacts,
  type Sender,
  type SenderKind,
  type SeenRoute,
  type SeenService,
} from "./kind.ts";
export {
  balancers,
  balancersOf,
  isNodeKind,
  isNodeProxy,
  isServed,
  kinds,
  nodeCheckOf,
  type PresetName,
  presets,
  senderOfRoute,
  sendersOfService,
  servesNode,
} from "./kinds.ts";
export type { Distribution, Mechanism, Periodic, Preset } from "./preset.ts";
