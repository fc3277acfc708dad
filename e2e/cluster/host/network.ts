import {
  clientRange,
  edgeAddress,
  fabricAddress,
  nodeAddress,
  nodePodRange,
  serviceRange,
} from "../network/addresses.ts";
import { configureNetwork, forwardPackets, type Sandbox } from "./sandbox.ts";

const servicesTable = 100;

/**
 * A bridge in the fabric, a cable to each node, and routes to every node's pods. The fabric has no default route and no
 * interface outside: nothing sent in here can leave.
 */
export async function connect(fabric: Sandbox, nodes: readonly Sandbox[]): Promise<void> {
  await configureNetwork(fabric, [
    "link set lo up",
    "link add br0 type bridge",
    `addr add ${fabricAddress}/24 dev br0`,
    "link set br0 up",
    "route add unreachable default",
    ...nodes.map((node, index) => `link add v${index + 1} type veth peer name eth0 netns ${node.init.pid}`),
    ...nodes.map((_, index) => `link set v${index + 1} master br0 up`),
    ...nodes.map((_, index) => `route add ${nodePodRange(index + 1)} via ${nodeAddress(index + 1)}`),
    // What the API server itself sends to a Service (webhooks) goes the way of the first node's kube-proxy, which masquerades it. Only what
    // begins here: an address that no Service has would else go round between that node and the fabric.
    `route add ${serviceRange} via ${nodeAddress(1)} table ${servicesTable}`,
    `rule add iif lo to ${serviceRange} lookup ${servicesTable}`,
  ]);
  // It forwards only to say that there is nothing beyond it: programs learn at once instead of waiting for a time-out.
  await forwardPackets(fabric);
  await Promise.all(nodes.map((node, index) => connectNode(node, index + 1, nodes.length)));
}

async function connectNode(node: Sandbox, number: number, count: number): Promise<void> {
  const others = Array.from({ length: count }, (_, index) => index + 1).filter((other) => other !== number);
  await configureNetwork(node, [
    "link set lo up",
    `addr add ${nodeAddress(number)}/24 dev eth0`,
    "link set eth0 up",
    // kube-proxy and the kubelet look for a default route; it ends in the fabric.
    `route add default via ${fabricAddress}`,
    ...others.map((other) => `route add ${nodePodRange(other)} via ${nodeAddress(other)}`),
  ]);
  await forwardPackets(node);
}

/**
 * Connects a machine that is no part of the cluster: it owns every address of the clients' range, and what it marks with a node's number
 * goes to that node, whatever its destination.
 */
export async function connectEdge(fabric: Sandbox, edge: Sandbox, nodes: readonly Sandbox[]): Promise<void> {
  await configureNetwork(fabric, [
    `link add edge type veth peer name eth0 netns ${edge.init.pid}`,
    "link set edge master br0 up",
  ]);
  await configureNetwork(edge, [
    "link set lo up",
    `addr add ${edgeAddress}/24 dev eth0`,
    "link set eth0 up",
    `route add local ${clientRange} dev lo`,
    `route add default via ${fabricAddress}`,
    ...nodes.flatMap((_, index) => [
      `route add default via ${nodeAddress(index + 1)} table ${index + 1}`,
      `rule add fwmark ${index + 1} lookup ${index + 1}`,
    ]),
  ]);
  await Promise.all(
    nodes.map((node) => configureNetwork(node, [`route replace ${clientRange} via ${edgeAddress}`])),
  );
}
