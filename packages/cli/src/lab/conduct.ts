import {
  buildResults,
  comparisonText,
  htmlReport,
  runLab,
  serialiseResults,
  type LabHooks,
  type LabProgress,
  type LabSettings,
  type RemedyResult,
  type Results,
} from "@lameduck/rollout";
import { exitCodeOfResults } from "../exit-codes.ts";
import { catchInterrupt } from "../interrupt.ts";
import { writeOutput } from "../output.ts";
import { Progress } from "../progress.ts";
import { version } from "../version.ts";
import { tryOnYours } from "./farewell.ts";
import type { LabOptions } from "./options.ts";

/** Runs the comparison, shows it, and returns the exit code. An interrupt keeps what has been measured. */
export async function conduct(settings: LabSettings, options: LabOptions): Promise<number> {
  const interrupt = catchInterrupt();
  const startedAt = new Date();
  const progress = new Progress();
  const measured: RemedyResult[] = [];
  try {
    const hooks = {
      onNetwork: introduce(settings, progress),
      onProgress: (state: LabProgress) => show(state, settings, measured.length, progress),
      signal: interrupt.signal,
    };
    for await (const result of runLab(settings, hooks)) measured.push(result);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    progress.say(`interrupted; ${measured.length} of ${settings.remedies.length} remedies measured`);
  } finally {
    progress.done();
    interrupt.release();
  }
  const results = buildResults({
    tool: "lab",
    version: version(),
    startedAt,
    seed: settings.seed,
    settings: described(settings),
    remedies: measured,
  });
  if (measured.length > 0) publish(results, options, settings);
  return interrupt.signal.aborted ? interrupt.exitCode : exitCodeOfResults(measured, options);
}

function introduce({ workload, senders, load, propagation, remedies }: LabSettings, progress: Progress) {
  return ({ kind, because, files, limits }: Parameters<NonNullable<LabHooks["onNetwork"]>>[0]): void => {
    progress.say(
      `${workload.replicas} pods in ${kind}${because ? ` (${because})` : ""}, ${load.rate} requests/s through ` +
        `${senders.map(({ name }) => name).join(", ")}; delays: ${propagation.name}; ${remedies.length} remedies`,
    );
    for (const line of [files, ...limits, ...workload.warnings]) progress.say(`note: ${line}`);
  };
}

function show(state: LabProgress, settings: LabSettings, done: number, progress: Progress): void {
  const { remedy, stage, rollout, sent, failed, terminating } = state;
  const of = stage === "rolling" && settings.rollouts > 1 ? ` ${rollout} of ${settings.rollouts}` : "";
  progress.update(
    `[${done + 1}/${settings.remedies.length}] ${remedy}: ${stage}${of}`,
    `${sent} sent, ${failed} failed, ${terminating} terminating`,
  );
}

function described(settings: LabSettings): Record<string, unknown> {
  const { workload, senders, propagation, load, rollouts, warmUp, app } = settings;
  return {
    workload: {
      kind: workload.kind,
      name: workload.template.name,
      replicas: workload.replicas,
      strategy: workload.strategy,
    },
    graceSeconds: app.graceSeconds,
    rollouts,
    warmUp,
    senders: senders.map(({ name, kind }) => ({ name, kind })),
    propagation: { name: propagation.name, source: propagation.source },
    load,
  };
}

function publish(results: Results, options: LabOptions, settings: LabSettings): void {
  if (options.json !== "-") process.stdout.write(`\n${comparisonText(results, { stream: process.stdout })}`);
  writeOutput("--json", options.json, () => serialiseResults(results));
  writeOutput("--html", options.html, () => htmlReport(results));
  if (settings.app.kind === "sample" && options.json !== "-") process.stdout.write(tryOnYours());
}
