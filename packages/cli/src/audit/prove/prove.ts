import { fixesOf, spell, type Audit, type AuditOptions, type Finding, type Workload } from "@lameduck/audit";
import type { RemedyResult } from "@lameduck/accounting";
import { messageOf } from "@lameduck/drain/common";
import type { FindImage } from "@lameduck/images";
import { findRemedy, openNetwork, runLab, type LabProgress, type LabSettings } from "@lameduck/stage";
import { parseSenders } from "../../lab/senders.ts";
import type { Progress } from "../../progress.ts";
import { played, whyNotPlayed, type Machine, type Played } from "./played.ts";
import { canBeShown, verdictOf, type Verdict } from "./verdict.ts";

/** One workload, rolled as it is and as its fixes would make it. */
export interface Proof {
  readonly workload: Workload;
  /** Why it was not rolled. */
  readonly skipped?: string;
  readonly notes: readonly string[];
  readonly before?: RemedyResult;
  /** Absent where no fix is known. */
  readonly after?: RemedyResult;
  readonly verdicts: readonly Verdict[];
}

interface ProveHooks {
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly find: FindImage;
}

/** Rolls every workload with a finding that a rollout can show. What was shown before an interrupt is kept. */
export async function* prove(audit: Audit, options: AuditOptions, hooks: ProveHooks): AsyncGenerator<Proof> {
  const mended = fixesOf(audit, options);
  const { objects } = audit.inventory;
  const machine: Machine = { ...options, objects, find: hooks.find, ownPrograms: await isSafeHere() };
  const candidates = audit.inventory.workloads
    .map((workload) => ({
      workload,
      findings: audit.findings.filter((one) => one.object === workload.object),
    }))
    .filter(({ findings }) => findings.some((one) => canBeShown(one)));
  for (const [index, { workload, findings }] of candidates.entries()) {
    const where = `[${index + 1}/${candidates.length}] ${spell(workload.object)}`;
    const whyNot = whyNotPlayed(workload);
    if (whyNot !== undefined) {
      yield notRolled(workload, findings, whyNot);
      continue;
    }
    const fixed = mendedOne(workload, audit, mended.audit);
    const whyNotFixed = fixed && whyNotPlayed(fixed);
    const better = whyNotFixed === undefined ? fixed : undefined;
    try {
      const first = await rolled(workload, machine, `${where}, as it is`, hooks);
      const second = better && (await rolled(better, machine, `${where}, fixed`, hooks));
      const all = { before: first.result, after: second?.result };
      yield {
        workload,
        notes: [...first.notes, ...(whyNotFixed === undefined ? [] : [`fixed: not rolled, ${whyNotFixed}`])],
        before: first.result,
        ...(second ? { after: second.result } : {}),
        verdicts: findings.map((finding) => verdictOf(finding, all)),
      };
    } catch (error) {
      if (hooks.signal.aborted) throw error;
      const { remedy } = error as { remedy?: string };
      yield notRolled(
        workload,
        findings,
        `${messageOf(error)}${remedy === undefined ? "" : `; ${remedy}`}`,
        "not proved",
      );
    }
  }
}

/** Programs of a manifest run only where everything that they write is discarded. */
async function isSafeHere(): Promise<boolean> {
  const network = await openNetwork();
  await network.close();
  return network.keepsNothing;
}

interface Rolled {
  readonly result: RemedyResult;
  readonly notes: readonly string[];
}

async function rolled(
  workload: Workload,
  machine: Machine,
  where: string,
  hooks: ProveHooks,
): Promise<Rolled> {
  const how = await played(workload, machine);
  return { result: await once(how, where, hooks), notes: how.notes };
}

async function once(how: Played, where: string, { progress, signal }: ProveHooks): Promise<RemedyResult> {
  const { workload, propagation, load } = how;
  const { graceSeconds } = workload.template;
  const settings: LabSettings = {
    workload: { ...workload, progressDeadlineSeconds: 60 },
    app: { kind: "other", program: "", graceSeconds },
    remedies: [findRemedy("nothing")!],
    rollouts: 1,
    senders: parseSenders("l4:2,l7:1,client:1"),
    propagation,
    load,
    seed: 1,
    warmUp: 1_000,
  };
  const onProgress = ({ stage, sent, failed, terminating }: LabProgress): void =>
    progress.update(`${where}: ${stage}`, `${sent} sent, ${failed} failed, ${terminating} terminating`);
  let rolled: RemedyResult | undefined;
  // Not left early: what ended the run in the middle is thrown behind the result.
  for await (const result of runLab(settings, { onProgress, signal })) rolled = result;
  return rolled!;
}

function notRolled(
  workload: Workload,
  findings: readonly Finding[],
  skipped: string,
  verdict: "not tried" | "not proved" = "not tried",
): Proof {
  return {
    workload,
    skipped,
    notes: [],
    verdicts: findings.map((finding) =>
      canBeShown(finding) ? { finding, verdict, because: skipped } : verdictOf(finding, undefined),
    ),
  };
}

/** Fixes keep the order of the objects. @returns undefined where they changed nothing in the workload. */
function mendedOne(workload: Workload, before: Audit, after: Audit): Workload | undefined {
  const object = after.inventory.objects[before.inventory.objects.indexOf(workload.object)];
  const mended = after.inventory.workloads.find((one) => one.object === object);
  return mended && written(mended) !== written(workload) ? mended : undefined;
}

function written({ object, template }: Workload): string {
  return JSON.stringify([object.field.plain(), template.plain()]);
}
