import type { Server } from "node:http";
import { createServer } from "@lameduck/kube/node-http";
import type { AddressInfo } from "node:net";
import { type Health, metricsHandler, answerOneAtATime, capPerAddress } from "@lameduck/program";
import type { CoordinatorMetrics } from "./metrics.ts";

/** Connections of one address. */
const mostReaders = 50;

/** Metrics and status. The kubelet probes here, too, so that nobody else may take all connections. */
export function metricsServer(metrics: CoordinatorMetrics, health: Health): Server {
  const server = createServer();
  answerOneAtATime(server, metricsHandler(metrics, health));
  capPerAddress(server, mostReaders);
  return server;
}

/** @param server that listens. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
