import { sendersOf } from "../model/scenario.ts";
import type { FrontierPoint, PolicyResult, Simulation } from "./simulate.ts";
import { quantile } from "./statistics.ts";
import { count, plot, type Series } from "@lameduck/accounting";
import { htmlPage } from "@lameduck/accounting/html-page";
import { element, escape, paragraph, table } from "@lameduck/accounting/markup";
import { number, seconds } from "./text.ts";

const colors = {
  fixed: "#b06a00",
  quiet: "#4467a8",
  adaptive: "#0a7d4b",
  other: "#777",
  oracle: "var(--ink)",
} as const;

/** One page that needs nothing else: loss against hold, holds, stale traffic, and one termination. */
export function simulationPage(simulation: Simulation): string {
  const { scenario, oracle } = simulation;
  return htmlPage(scenario.name, [
    element("h1", {}, escape(scenario.name)),
    paragraph(scenario.summary),
    paragraph(
      `${count(simulation.terminations, "termination")}, ${count(scenario.replicas, "replica")}, ${count(sendersOf(scenario), "sender")}, ${number(scenario.traffic.perPod)} new connections/s per pod, grace ${seconds(scenario.pod.grace)}, seed ${simulation.seed}. The last sender stopped sending after ${seconds(oracle.mean)} on average, ${seconds(oracle.max)} at most.`,
    ),
    policyTable(simulation.policies),
    element(
      "div",
      { style: "display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1.5rem" },
      frontier(simulation),
      holds(simulation),
      survival(simulation),
      timeline(simulation),
    ),
  ]);
}

const heads = [
  "policy",
  "lost per termination",
  "95 %",
  "terminations with a loss",
  "hold, mean",
  "p90",
  "max",
  "rollout",
  "killed",
];

function policyTable(policies: readonly PolicyResult[]): string {
  const rows = policies.map(
    ({ policy, description, lostPerTermination: lost, anyLost, hold, rolloutTime, killed }) => {
      const isOurs = policy.startsWith("adaptive") || policy === "yours";
      const cells = [
        number(lost.mean),
        `${number(lost.low)} to ${number(lost.high)}`,
        `${(100 * anyLost).toFixed(1)} %`,
        seconds(hold.mean),
        seconds(hold.p90),
        seconds(hold.max),
        seconds(rolloutTime),
        String(killed),
      ];
      return element(
        "tr",
        { style: isOurs ? "background:var(--raised);font-weight:600" : undefined },
        element("td", { title: description }, escape(policy)),
        ...cells.map((cell) => element("td", {}, escape(cell))),
      );
    },
  );
  return table(
    "All policies",
    heads.map((head) => element("th", { scope: "col" }, head)),
    rows,
  );
}

function frontier({ frontier: { fixed, quiet, adaptive }, policies }: Simulation): string {
  const curve = (name: string, color: string, points: readonly FrontierPoint[]): Series => ({
    name,
    color,
    line: true,
    points: points.toSorted((a, b) => a.hold - b.hold).map(({ hold, lost }) => [hold / 1_000, lost]),
    labels: points
      .toSorted((a, b) => a.hold - b.hold)
      .map(({ policy, lost }) => `${policy}: ${number(lost)} lost`),
  });
  const named = policies.filter(({ policy }) => !/^(sleep|quiet|nothing)/.test(policy));
  return plot(
    [
      curve("fixed delays", colors.fixed, fixed),
      curve("quiet windows", colors.quiet, quiet),
      curve("adaptive, budgets 1 to 0.001", colors.adaptive, adaptive),
      {
        name: "named policies",
        color: colors.other,
        points: named.map(({ hold, lostPerTermination }) => [hold.mean / 1_000, lostPerTermination.mean]),
        labels: named.map(
          ({ policy, lostPerTermination }) => `${policy}: ${number(lostPerTermination.mean)} lost`,
        ),
      },
    ],
    {
      title: "Loss against hold: lower and further left is better",
      x: "mean hold, s",
      y: "lost per termination",
      logY: true,
    },
  );
}

function holds({ policies, oracle }: Simulation): string {
  const shown = policies.filter(({ policy }) =>
    ["adaptive", "adaptive, learning", "yours", "quiet 5", "oracle"].includes(policy),
  );
  const palette = [colors.quiet, colors.adaptive, "#66b894", "#8a3ffc", colors.oracle];
  return plot(
    shown.map(({ policy, holds: each }, index) => ({
      name: policy,
      color: palette[index % palette.length]!,
      line: true,
      dots: false,
      points: Array.from({ length: 51 }, (_, step): [number, number] => [
        quantile(each, step / 50) / 1_000,
        (step / 50) * 100,
      ]),
    })),
    {
      title: `How long pods were held (oracle: ${seconds(oracle.mean)} on average)`,
      x: "hold, s",
      y: "% of terminations held no longer",
    },
  );
}

function survival({ survival: points }: Simulation): string {
  return plot(
    [
      {
        name: "traffic that still comes",
        color: colors.fixed,
        line: true,
        dots: false,
        points: points.map(({ at, share }) => [at / 1_000, 100 * share]),
      },
    ],
    { title: "Stale traffic after the deletion", x: "s since the deletion", y: "% of the pod's traffic" },
  );
}

function timeline({ example }: Simulation): string {
  const stops = example.stops.filter(({ policy }) =>
    ["nothing", "sleep 5", "sleep 15", "quiet 5", "adaptive", "yours", "oracle"].includes(policy),
  );
  const sorted = example.convergence.toSorted((a, b) => a - b);
  const palette = ["#a11", colors.fixed, "#d9a441", colors.quiet, colors.adaptive, "#8a3ffc", colors.oracle];
  return plot(
    [
      {
        name: "senders still sending",
        color: "#999",
        line: true,
        dots: false,
        points: [
          [0, sorted.length],
          ...sorted.map((at, index): [number, number] => [at / 1_000, sorted.length - index - 1]),
        ],
      },
      { name: "arrivals", color: "#c33", points: example.arrivals.map((at) => [at / 1_000, 0]) },
      ...stops.map(({ policy, at }, index): Series => ({
        name: policy,
        color: palette[index % palette.length]!,
        line: true,
        dots: false,
        points: [
          [at / 1_000, 0],
          [at / 1_000, sorted.length],
        ],
      })),
    ],
    {
      title: "One termination: senders, arrivals, and where each policy stops",
      x: "s since the deletion",
      y: "senders",
    },
  );
}
