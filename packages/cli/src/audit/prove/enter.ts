import type { Audit, AuditOptions } from "@lameduck/audit";
import { enterStage, insideStage } from "@lameduck/stage";
import { catchInterrupt } from "../../interrupt.ts";
import { say } from "../../output.ts";
import { Progress } from "../../progress.ts";
import { prove } from "./prove.ts";
import { plainProof, proofText } from "./report.ts";

/**
 * Runs this very command line again where pods have a network, processes and files of their own. Programs of a manifest cannot
 * reach anything else there.
 * @returns its exit code; undefined inside of it, where the audit goes on.
 */
export async function enterLab(): Promise<number | undefined> {
  if (insideStage()) return undefined;
  const [, program = "", ...rest] = process.argv;
  return enterStage(program, rest, { network: "namespaces", say });
}

/** As text, and for the JSON document. */
export interface ShownProof {
  readonly text: string;
  readonly plain: unknown;
}

interface Proven {
  /** None where nothing was rolled before Ctrl-C. An empty list would say that there was nothing to roll. */
  readonly proofs: readonly ShownProof[] | undefined;
  /** After Ctrl-C: its exit code. Results from before are kept. */
  readonly interrupted?: number;
}

export async function proofsOf(audit: Audit, options: AuditOptions): Promise<Proven> {
  const interrupt = catchInterrupt();
  const progress = new Progress();
  const proofs: ShownProof[] = [];
  try {
    for await (const proof of prove(audit, options, { progress, signal: interrupt.signal }))
      proofs.push({ text: proofText(proof), plain: plainProof(proof) });
    return { proofs };
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    progress.say(`interrupted; ${proofs.length} ${proofs.length === 1 ? "workload" : "workloads"} rolled`);
    return { proofs: proofs.length === 0 ? undefined : proofs, interrupted: interrupt.exitCode };
  } finally {
    progress.done();
    interrupt.release();
  }
}
