import type { Handler } from "@lameduck/manifests";
import { messageOf } from "@lameduck/drain/common";
import { connects } from "@lameduck/load";
import type { ContainerProcess } from "../runtime/process.ts";
import { get } from "./http.ts";
import type { ContainerSurroundings } from "./surroundings.ts";
import type { HookResult } from "./termination.ts";

/** The container that a handler asks. */
export interface HandlerTarget extends Pick<ContainerSurroundings, "network" | "from" | "clock" | "over"> {
  readonly process: ContainerProcess;
}

/** One probe of a container. Never rejects: whatever goes wrong is a failure. */
export async function check(
  handler: Handler,
  target: HandlerTarget,
  timeoutSeconds: number,
): Promise<boolean> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1_000);
  const { network, process, from } = target;
  try {
    switch (handler.kind) {
      case "exec":
        return (await process.exec(handler.command, signal)).code === 0;
      case "http": {
        // The app can distinguish a probe from an arrival by its name.
        const status = await get(handler, target, "kube-probe/1.36", signal);
        return status >= 200 && status < 400;
      }
      case "tcp": {
        const port = network.localPort(handler.port);
        return await connects({ host: network.address, port, localAddress: from, signal });
      }
      case "sleep":
        return false;
    }
  } catch {
    return false;
  }
}

/**
 * Runs a postStart or preStop handler to its end, or that of the pod; hooks know no time limit of their own. Never rejects.
 * (pkg/kubelet/lifecycle/handlers.go)
 */
export async function runHook(handler: Handler, target: HandlerTarget): Promise<HookResult> {
  const { process, clock, over } = target;
  try {
    switch (handler.kind) {
      case "exec": {
        const { code, output } = await process.exec(handler.command, over);
        return code === 0
          ? { ok: true }
          : { ok: false, detail: `exit code ${code ?? "none"}${output && `: ${output}`}` };
      }
      case "http":
        // Any answer is success, whatever its status.
        await get(handler, target, "kube-lifecycle/1.36", over);
        return { ok: true };
      case "sleep":
        // It goes on even when the container has ended meanwhile.
        await clock.sleep(handler.seconds * 1_000, over);
        return { ok: true };
      case "tcp":
        return { ok: false, detail: "tcpSocket is accepted by the API and fails at run time" };
    }
  } catch (error) {
    return { ok: false, detail: messageOf(error) };
  }
}
