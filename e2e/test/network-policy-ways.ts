import { operatorNames } from "@lameduck/protocol";

const { ports, coordinator } = operatorNames;
const { protocol } = coordinator.ports;

/** Who opens connections. "node" is one on which the other end does not run: each node reaches its own pods. */
export type Origin = "API server" | "node" | "shop" | "monitoring" | "webhook" | "coordinator";

/** To whom; of several replicas to each. */
export type Target =
  | "webhook"
  | "coordinator"
  | "bystander"
  | "shop"
  | "monitoring"
  | "webhook Service"
  | "coordinator Service"
  | "API server"
  | "API server's Service"
  | "DNS"
  | "DNS on another port"
  | "kubelet";

export interface Way {
  readonly from: Origin;
  readonly to: Target;
  readonly port: number | "dns";
  /** By the chart's policies, with --metrics-from monitoring, in a namespace where all else is denied. */
  readonly isOpen: boolean;
}

const way =
  (isOpen: boolean) =>
  (from: Origin, to: Target, port: number | "dns"): Way => ({ from, to, port, isOpen });
const open = way(true);
const closed = way(false);

/** All of them are answered where there is no policy. Each has an end in the operator's namespace. */
export const ways: readonly Way[] = [
  // What is served to others.
  open("API server", "webhook Service", ports.service),
  open("API server", "webhook", ports.webhook),
  open("shop", "coordinator Service", protocol),
  open("shop", "coordinator", protocol),
  open("node", "coordinator", protocol),
  open("coordinator", "coordinator", protocol),
  open("webhook", "coordinator Service", protocol),
  open("webhook", "coordinator", protocol),
  // Metrics and what else is on their port.
  open("monitoring", "webhook", ports.metrics),
  open("monitoring", "coordinator", coordinator.ports.metrics),
  open("monitoring", "coordinator Service", coordinator.ports.metrics),
  ...(["API server", "node", "shop"] as const).flatMap((from) => [
    closed(from, "webhook", ports.metrics),
    closed(from, "coordinator", coordinator.ports.metrics),
  ]),
  closed("shop", "coordinator Service", coordinator.ports.metrics),
  closed("webhook", "coordinator", coordinator.ports.metrics),
  closed("coordinator", "coordinator", coordinator.ports.metrics),
  closed("coordinator", "webhook", ports.metrics),
  // A pod that none of the chart's policies is about.
  closed("shop", "bystander", 8080),
  // What they call themselves.
  ...(["webhook", "coordinator"] as const).flatMap((from) => [
    open(from, "API server", 6443),
    open(from, "API server's Service", 443),
    open(from, "DNS", "dns"),
    open(from, "DNS", 53),
    // As OpenShift has it: policies are asked about the port of the pod behind the Service.
    open(from, "DNS on another port", 53),
    closed(from, "kubelet", 10250),
    closed(from, "shop", 8080),
    closed(from, "bystander", 8080),
  ]),
  // The API server of minikube listens on the same port.
  open("coordinator", "webhook", ports.webhook),
  // A pod that listens on the same port as the coordinator.
  closed("coordinator", "monitoring", protocol),
];

export const spelt = ({ from, to, port }: Way): string => `${from} -> ${to}:${port}`;
