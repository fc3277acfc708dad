import { sendersOf } from "../model/scenario.ts";
import type { FrontierPoint, PolicyResult, Simulation } from "./simulate.ts";
import { quantile } from "./statistics.ts";
import { count, escape } from "@lameduck/accounting";
import { plot, type Series } from "./svg.ts";
import { number, seconds } from "./text.ts";

const colors = {
  fixed: "#b06a00",
  quiet: "#4467a8",
  adaptive: "#0a7d4b",
  other: "#777",
  oracle: "#111",
} as const;

/** One page that needs nothing else: loss against hold, holds, stale traffic, and one termination. */
export function simulationPage(simulation: Simulation): string {
  const { scenario } = simulation;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(scenario.name)}: simulated terminations</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #e4e4e4}
td:first-child,th:first-child{text-align:left}tr.ours{background:#eaf6f0;font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(440px,1fr));gap:1.5rem}figure{margin:0}figcaption{font-weight:600}
svg{width:100%;height:auto;font-size:11px;fill:#444}.grid{stroke:#e6e6e6}.legend span{margin-right:1em;white-space:nowrap}.legend i{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.3em}
</style></head><body>
<h1>${escape(scenario.name)}</h1>
<p>${escape(scenario.summary)}</p>
<p>${count(simulation.terminations, "termination")}, ${count(scenario.replicas, "replica")}, ${count(sendersOf(scenario), "sender")}, ${number(scenario.traffic.perPod)} new connections/s per pod, grace ${seconds(scenario.pod.grace)}, seed ${simulation.seed}. The last sender converged after ${seconds(simulation.oracle.mean)} on average, ${seconds(simulation.oracle.max)} at most.</p>
${policyTable(simulation.policies)}
<div class="plots">${frontier(simulation)}${holds(simulation)}${survival(simulation)}${timeline(simulation)}</div>
</body></html>
`;
}

function policyTable(policies: readonly PolicyResult[]): string {
  const rows = policies.map(
    ({ policy, description, lostPerTermination: lost, anyLost, hold, rolloutTime, killed }) => {
      const ours = policy.startsWith("adaptive") || policy === "yours" ? ' class="ours"' : "";
      return `<tr${ours}><td title="${escape(description)}">${escape(policy)}</td><td>${number(lost.mean)}</td><td>${number(lost.low)} to ${number(lost.high)}</td><td>${(100 * anyLost).toFixed(1)} %</td><td>${seconds(hold.mean)}</td><td>${seconds(hold.p90)}</td><td>${seconds(hold.max)}</td><td>${seconds(rolloutTime)}</td><td>${killed}</td></tr>`;
    },
  );
  return `<table><thead><tr><th>policy</th><th>lost per termination</th><th>95 %</th><th>terminations with a loss</th><th>hold, mean</th><th>p90</th><th>max</th><th>rollout</th><th>killed</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
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
