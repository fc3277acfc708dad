/** Facts of each kind of sender, and the questions about all kinds. */
export { aws, awsBalancerOf } from "./aws.ts";
export { type KeptAddresses, keptAddressesOf, type NamedPort } from "./dns.ts";
export { cilium } from "./cilium.ts";
export { envoy } from "./envoy.ts";
export { gcp } from "./gcp.ts";
export { haproxy } from "./haproxy.ts";
export { http } from "./http.ts";
export { ztunnel } from "./istio.ts";
export { ingressNginx } from "./ingress-nginx.ts";
export { kubeProxy } from "./kube-proxy.ts";
export { nginx } from "./nginx.ts";
export { traefik } from "./traefik.ts";
export {
  type Annotations,
  annotationsOf,
  type Assumed,
  classOf,
  type ConsumerFacts,
  isDefaultClass,
  type Program,
  type Recognised,
  type SeenContainer,
  type SeenPod,
  type Sender,
  type SenderKind,
  type SeenClass,
  type SeenRoute,
  type SeenService,
  withClass,
} from "./kind.ts";
export {
  balancers,
  balancersOf,
  isOfBalancer,
  convergenceOf,
  isNodeKind,
  isNodeProxy,
  isNodeNeed,
  mayServe,
  isServed,
  kinds,
  mayServeOneClass,
  namedByAnnotations,
  needsOfService,
  nodeCheckOf,
  objectKinds,
  type PodSender,
  type PresetName,
  presets,
  programOf,
  programOfRoute,
  programs,
  proxyOf,
  recognised,
  recognisedBy,
  routeAnnotations,
  type SeenProxy,
  senderOfRoute,
  sendersOfNamespace,
  sendersOfPod,
  sendersOfService,
  whoIs,
} from "./kinds.ts";
export {
  environmentOf,
  environments,
  noticeOf,
  notices,
  type NodeEnvironment,
  type SeenNode,
  type ShortNotice,
} from "./environments.ts";
export { classesOf, everyService, everyServiceIn } from "./recognising.ts";
export type { Distribution, Mechanism, Periodic, Preset } from "./preset.ts";
