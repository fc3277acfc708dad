import { connect } from "node:net";
import type { Handler } from "@lameduck/manifests";
import type { PodNetwork } from "../network/network.ts";
import type { ContainerProcess } from "../runtime/process.ts";
import { get } from "./http.ts";

/** Sent to the app, so that it can distinguish a probe from an arrival. */
const userAgent = "kube-probe/1.36";

export interface CheckTarget {
  readonly network: PodNetwork;
  readonly process: ContainerProcess;
  readonly from: string;
}

/** One probe of a container. Never rejects: whatever goes wrong is a failure. */
export async function check(handler: Handler, target: CheckTarget, timeoutSeconds: number): Promise<boolean> {
  const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
  const { network, process, from } = target;
  try {
    switch (handler.kind) {
      case "exec":
        return (await process.exec(handler.command, timeout)).code === 0;
      case "http": {
        const port = network.localPort(handler.port);
        const status = await get(handler, { address: network.address, port, from, userAgent }, timeout);
        return status >= 200 && status < 400;
      }
      case "tcp":
        return await connects(network.address, network.localPort(handler.port), from, timeout);
      case "sleep":
        return false;
    }
  } catch {
    return false;
  }
}

function connects(host: string, port: number, from: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, localAddress: from });
    const ended = (connected: boolean): void => {
      socket.destroy();
      resolve(connected);
    };
    socket.on("connect", () => ended(true));
    socket.on("error", () => ended(false));
    signal.addEventListener("abort", () => ended(false), { once: true });
  });
}
