import type { InjectionSettings } from "./policy/settings.ts";
import { options } from "@lameduck/options";
import type { Action } from "./action.ts";
import type { Times } from "./injection.ts";
import { initVolumePath, initFile } from "@lameduck/protocol";
import { orderPath, orderVolume } from "./init-volume.ts";
import { gracefulSignalOf } from "./software.ts";
import { handedOnBy, longestSeconds } from "./times.ts";

export const orderMount = { name: orderVolume, mountPath: orderPath } as const;
/** In memory: the cluster autoscaler takes any other emptyDir for data that must not be lost. */
export const sharedOrder = { name: orderVolume, emptyDir: { medium: "Memory" } } as const;
/** lameduck-init waits for eight files at most. */
export const mostAwaited = 8;

export interface Hook {
  readonly preStop: Readonly<Record<string, unknown>>;
  readonly isInit: boolean;
}

interface HookOptions {
  /** The containers that a sidecar follows. */
  readonly holds: readonly Action[];
  /** Some sidecar does. */
  readonly isOrdered: boolean;
  readonly kind: "wait" | "sleep" | "nothing";
  readonly times: Times;
  readonly settings: InjectionSettings;
}

export function hookOf(action: Action, circumstances: HookOptions): Hook | undefined {
  const { kind, times } = circumstances;
  if ((action.does !== "hold" && action.does !== "follow") || kind === "nothing" || times.hold < 1)
    return undefined;
  return kind === "sleep"
    ? { preStop: { sleep: { seconds: times.hold } }, isInit: false }
    : { preStop: { exec: { command: waitCommand(action, circumstances) } }, isInit: true };
}

/** Nothing in it comes from the pod but the numbers of its containers, and the name of a signal that a table has. */
function waitCommand(
  { does, index, container, former }: Action,
  { holds, isOrdered, times, settings }: HookOptions,
): string[] {
  const { grace, hold } = times;
  // Flags win over variables, and LAMEDUCK_PRESTOP means what comes after this hook.
  const command = [
    `${initVolumePath}/${initFile}`,
    "wait",
    `--${options.grace.init.flag}`,
    `${Math.min(grace, longestSeconds)}s`,
    `--${options.prestop.init.flag}`,
    "0s",
    `--${options.cap.init.flag}`,
    `${hold}s`,
  ];
  for (const { flag, value } of handedOnBy(settings, hold)) command.push(flag, value);
  const signal = former?.stops ? former.signal : gracefulSignalOf(container);
  if (signal !== undefined) command.push("--then", signal);
  if (does === "follow")
    return [
      ...command,
      ...(isOrdered ? holds.slice(0, mostAwaited) : []).map((one) => `--wait-for=${orderPath}/${one.index}`),
    ];
  if (isOrdered) command.push("--ready-file", `${orderPath}/${index}`);
  return command;
}
