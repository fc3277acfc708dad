import { formatDuration } from "@lameduck/drain";
import { printable } from "@lameduck/drain/common";
import { number, seconds, table } from "../simulate/text.ts";
import type { Advice, Prediction } from "./advise.ts";

/** The advice for a terminal: settings, what they lose and cost, and how they were computed. */
export function renderAdvice(advice: Advice): string {
  const { recommended: to, scenario } = advice;
  const row = (name: string, prediction: Prediction): string[] => [
    name,
    number(prediction.lostPerTermination.mean),
    `${number(prediction.lostPerTermination.low)}..${number(prediction.lostPerTermination.high)}`,
    number(prediction.lostPerRollout),
    seconds(prediction.hold.mean),
    seconds(prediction.hold.p99),
    seconds(prediction.rolloutTime),
  ];
  return [
    `${printable(scenario.name)}: recommended`,
    `  policy ${to.policy}, floor ${formatDuration(to.floor)}, cap ${formatDuration(to.cap)}, reserve ${formatDuration(to.reserve)}, convergence ${formatDuration(to.convergence)}`,
    `  terminationGracePeriodSeconds ${to.grace / 1_000}` +
      (to.maxSurge === undefined ? "" : `, maxSurge ${to.maxSurge}, maxUnavailable 0`),
    "",
    ...table([
      ["policy", "lost/termination", "95 %", "lost/rollout", "hold mean", "p99", "rollout"],
      row("recommended", advice.expected),
      ...advice.instead.map((one) => row(one.policy, one)),
    ]),
    "",
    ...advice.arithmetic.map((line) => `- ${line}`),
    ...advice.unknown.map((line) => `- unknown: ${line}`),
    "",
  ].join("\n");
}

/** A strategic merge patch for the workload: `kubectl patch deployment NAME --patch-file FILE`. */
export function advicePatch({ recommended: to, scenario }: Advice, container = "app"): string {
  const isDaemonSet = "workload" in scenario.rollout && scenario.rollout.workload === "DaemonSet";
  const surge =
    to.maxSurge === undefined
      ? []
      : [
          isDaemonSet ? "  updateStrategy:" : "  strategy:",
          "    type: RollingUpdate",
          "    rollingUpdate:",
          `      maxSurge: ${to.maxSurge}`,
          "      maxUnavailable: 0",
        ];
  const { prestop } = scenario.pod;
  return [
    "spec:",
    ...surge,
    "  template:",
    "    spec:",
    `      terminationGracePeriodSeconds: ${to.grace / 1_000}`,
    "      containers:",
    `        - name: ${JSON.stringify(container)}`,
    "          env:",
    ...Object.entries({
      LAMEDUCK_GRACE_PERIOD: formatDuration(to.grace),
      ...(prestop > 0 ? { LAMEDUCK_PRESTOP: formatDuration(prestop) } : {}),
      LAMEDUCK_POLICY: to.policy,
      LAMEDUCK_FLOOR: formatDuration(to.floor),
      LAMEDUCK_CAP: formatDuration(to.cap),
      LAMEDUCK_RESERVE: formatDuration(to.reserve),
      LAMEDUCK_CONVERGENCE: formatDuration(to.convergence),
    }).flatMap(([name, value]) => [
      `            - name: ${name}`,
      `              value: ${JSON.stringify(value)}`,
    ]),
    "",
  ].join("\n");
}
