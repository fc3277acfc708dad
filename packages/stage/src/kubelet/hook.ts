import type { Handler } from "@lameduck/manifests";
import type { StageClock } from "../clock.ts";
import type { PodNetwork } from "../network/network.ts";
import type { ContainerProcess } from "../runtime/process.ts";
import { get } from "./http.ts";
import type { HookResult } from "./termination.ts";
import { messageOf } from "@lameduck/drain/common";

const userAgent = "kube-lifecycle/1.36";

export interface HookTarget {
  readonly network: PodNetwork;
  readonly process: ContainerProcess;
  readonly from: string;
  readonly clock: StageClock;
  /** The end of the pod; hooks know no time limit of their own. */
  readonly over: AbortSignal;
}

/** Runs a postStart or preStop handler to its end. Never rejects. (pkg/kubelet/lifecycle/handlers.go) */
export async function runHook(handler: Handler, target: HookTarget): Promise<HookResult> {
  const { network, process, from, clock, over } = target;
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
        await get(
          handler,
          { address: network.address, port: network.localPort(handler.port), from, userAgent },
          over,
        );
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
