import { isMainThread } from "node:worker_threads";
import { formatDuration, type DrainConfig, type DrainOptions } from "@lameduck/drain";
import { decisionNames, rows } from "@lameduck/options";
import { valueOf, type Environment } from "./environment.ts";

/** Settings that are allowed and probably not meant: one line for each. */
export function warningsAbout(options: DrainOptions, drain: DrainConfig, environment: Environment): string[] {
  return [
    ...ofThread(),
    ...ofGrace(options, environment),
    ...ofCap(drain),
    ...ofPolicy(options, drain, environment),
  ];
}

function ofThread(): string[] {
  if (isMainThread) return [];
  return [
    "signals reach the main thread alone, and this is a worker thread: its servers are not waited for. " +
      "Listen in the main thread, or post a message from a hook of the main thread and call terminate() here with `exit: false`",
  ];
}

/** Nothing in a container knows the grace period: the downward API does not have it. */
function ofGrace(options: DrainOptions, environment: Environment): string[] {
  if (options.grace !== undefined || !environment["KUBERNETES_SERVICE_HOST"]) return [];
  return [
    "the grace period is not known, and 30s are assumed; say it in the container's env, with the pod's terminationGracePeriodSeconds and the time " +
      'its preStop hook takes: - { name: LAMEDUCK_GRACE_PERIOD, value: "30s" } - { name: LAMEDUCK_PRESTOP, value: "0s" }',
  ];
}

/** What is longer than the cap never comes to its end. */
function ofCap({ policy, cap }: DrainConfig): string[] {
  const [name, time] =
    policy.kind === "fixed"
      ? ["delay", policy.delay]
      : policy.kind === "quiet"
        ? ["window", policy.window]
        : ["", 0];
  if (time <= cap) return [];
  return [
    `${name}: ${formatDuration(time)} is above the cap, which ends the hold after ${formatDuration(cap)}; raise the grace period or lower the ${name}`,
  ];
}

/** What only other policies use. */
function ofPolicy(options: DrainOptions, { policy }: DrainConfig, environment: Environment): string[] {
  return decisionNames.flatMap((name) => {
    const { policies, variable = name } = rows[name];
    if ((options[name] ?? undefined) === undefined || !policies || policies.includes(policy.kind)) return [];
    const place = valueOf(environment, variable) === undefined ? name : variable;
    return `${place} does nothing: it is of the policy ${policies[0]}, and the policy is ${policy.kind}`;
  });
}
