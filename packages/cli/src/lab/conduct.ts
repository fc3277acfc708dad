import { buildResults, count, htmlReport, skippedRemedy, type RemedyResult } from "@lameduck/accounting";
import {
  OtherPortError,
  runLab,
  tellOutside,
  type LabHooks,
  type LabProgress,
  type LabSettings,
} from "@lameduck/stage";
import { exitCodeOfResults } from "../exit-codes.ts";
import { catchInterrupt } from "../interrupt.ts";
import { teller, type Told } from "../live/tell.ts";
import { labUi } from "./ui.ts";
import { Progress } from "../progress.ts";
import { ranOn } from "../ran-on.ts";
import { publishResults } from "../results.ts";
import { version } from "../about.ts";
import type { LabOptions } from "./options.ts";

/** Runs the comparison, shows it, and returns the exit code. What has been measured is kept, however it ends. */
export async function conduct(settings: LabSettings, options: LabOptions): Promise<number> {
  const progress = new Progress();
  const interrupt = catchInterrupt(() =>
    progress.say("ending: what was measured is kept; once more ends at once"),
  );
  const about = {
    tool: "lab" as const,
    version: version(),
    startedAt: new Date(),
    seed: settings.seed,
    ranOn: ranOn(),
    settings: described(settings),
  };
  const ui = options.ui ? labUi(settings, tellOutside) : undefined;
  ui?.begin(about);
  const measured: RemedyResult[] = [];
  const tell = teller(progress, options);
  let failure: unknown;
  try {
    const hooks = {
      onNetwork: introduce(settings, progress),
      onProgress: (state: LabProgress) => {
        const words = labWords(state, settings, measured.length);
        tell({ ...words, byPod: state.byPod, ...state.seen });
        ui?.progress(state, words);
      },
      ...(ui ? { onRecords: ui.records } : {}),
      onNote: (line: string) => progress.say(`note: ${line}`),
      signal: interrupt.signal,
    };
    for await (const result of runLab(settings, hooks)) {
      measured.push(result);
      void ui?.tell({ type: "measured", result });
    }
  } catch (error) {
    failure = error;
    // Where it listens instead, the lab goes there: nothing has failed.
    if (error instanceof OtherPortError && isRepeatable(options)) throw error;
    const how = interrupt.signal.aborted ? "interrupted" : "failed";
    const whole = measured.filter(({ interrupted: why }) => why === undefined).length;
    progress.say(`${how}; ${whole} of ${count(settings.remedies.length, "remedy", "remedies")} measured`);
  } finally {
    progress.done();
    interrupt.release();
  }
  const results = buildResults({
    ...about,
    remedies: [
      ...measured,
      // A run that came to its end has left out what says nothing more.
      ...settings.remedies
        .slice(failure === undefined ? Infinity : measured.length)
        .map(({ name, description }) =>
          skippedRemedy(name, description, "the run ended before it was measured"),
        ),
    ],
  });
  if (measured.length > 0) {
    const isShown = publishResults(results, options);
    await ui?.tell({ type: "final", html: htmlReport(results) });
    if (isShown && settings.app.kind === "sample") process.stdout.write(tryOnYours());
  }
  if (interrupt.signal.aborted) return interrupt.exitCode;
  if (failure !== undefined) throw failure;
  return exitCodeOfResults(measured, options);
}

/** Nothing says on which port the program listens but the program itself. */
export function isRepeatable({ port, file }: LabOptions): boolean {
  return port === undefined && file === undefined;
}

function introduce({ workload, senders, load, propagation, remedies }: LabSettings, progress: Progress) {
  return ({ kind, because, files, limits }: Parameters<NonNullable<LabHooks["onNetwork"]>>[0]): void => {
    progress.say(
      `${count(workload.replicas, "pod")} in ${kind}${because ? ` (${because})` : ""}, ${load.rate} requests/s through ` +
        `${senders.map(({ name }) => name).join(", ")}; delays: ${propagation.name}; ` +
        (remedies.length === 1
          ? `remedy: ${remedies[0]?.name}`
          : count(remedies.length, "remedy", "remedies")),
    );
    const { containers, initContainers } = workload.template;
    const all = [...containers, ...initContainers];
    const isRootPlayed = kind.endsWith("user namespace") && all.some(({ root }) => root?.user === 0);
    const notes = [
      all.every(({ root }) => root) ? "what pods write is discarded" : files,
      ...limits,
      ...workload.warnings,
      ...(kind === "shared loopback" && workload.template.filled?.length
        ? ["volumes of ConfigMaps and Secrets are not mounted without namespaces"]
        : []),
      ...(isRootPlayed
        ? ["images that start as root start as the user who runs the lab, to whom their files belong"]
        : []),
    ];
    for (const line of notes) progress.say(`note: ${line}`);
  };
}

function labWords(state: LabProgress, settings: LabSettings, done: number): Pick<Told, "stage" | "figures"> {
  const { remedy, stage, rollout, sent, failed, terminating } = state;
  const of = stage === "rolling" && settings.rollouts > 1 ? ` ${rollout} of ${settings.rollouts}` : "";
  return {
    stage: `[${done + 1}/${settings.remedies.length}] ${remedy}: ${stage}${of}`,
    figures: `${sent} sent, ${failed} failed, ${terminating} terminating`,
  };
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
    // Headers and bodies may be secrets.
    load: { ...load, headers: undefined, body: undefined, message: undefined },
  };
}

/** The way from the sample to one's own server, as it works from where the user stands. */
function tryOnYours(env: NodeJS.ProcessEnv = process.env): string {
  const command = env["npm_execpath"] ? "npx lameduck" : "lameduck";
  return `\nOn your own server:  ${command} lab -- node server.js\nMore:                ${command} lab --help\n`;
}
