import type { Exchange } from "../protocols/exchange.ts";

/** Without an endpoint kube-proxy rejects, a resolver finds nothing and a load balancer has no target: nothing is sent anywhere. */
export function refuse(exchange: Exchange, at: number): void {
  exchange.fail({ outcome: "refused", error: "NO_ENDPOINT" }, at);
}
