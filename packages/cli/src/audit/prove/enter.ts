import type { Audit, AuditOptions } from "@lameduck/audit";
import { count } from "@lameduck/accounting/words";
import { enterStage, insideStage } from "@lameduck/stage";
import { findOutside, openOutside } from "../../images/outside.ts";
import { catchInterrupt } from "../../interrupt.ts";
import { say } from "../../output.ts";
import { Progress } from "../../progress.ts";
import { prove } from "./prove.ts";
import { plainProof, proofText } from "./report.ts";

export { configOutside } from "../../images/outside.ts";

/**
 * Runs this very command line again in a place where pods have a network, processes and files of their own. Programs of a manifest cannot
 * reach anything else there.
 * @returns the exit code of that command; undefined within that command, where the audit goes on.
 */
export async function enterLab(image: readonly string[]): Promise<number | undefined> {
  if (insideStage()) return undefined;
  const [, program = "", ...rest] = process.argv;
  const images = openOutside(image);
  try {
    const answer = (question: unknown): Promise<unknown> => images.answer(question);
    return await enterStage(program, rest, { network: "namespaces", say, answer });
  } finally {
    await images.close();
  }
}

/** A proof as text, and as data for the JSON document. */
export interface ShownProof {
  readonly text: string;
  readonly plain: unknown;
}

interface Proven {
  /** The proofs. Undefined where Ctrl-C came before the first proof. An empty list says that there was nothing to roll. */
  readonly proofs: readonly ShownProof[] | undefined;
  /** The exit code for an audit that Ctrl-C has ended. Proofs from before Ctrl-C are kept. */
  readonly interrupted?: number;
}

export async function proofsOf(audit: Audit, options: AuditOptions): Promise<Proven> {
  const interrupt = catchInterrupt();
  const { signal } = interrupt;
  const progress = new Progress();
  const proofs: ShownProof[] = [];
  try {
    for await (const proof of prove(audit, options, { progress, signal, find: findOutside(signal) }))
      proofs.push({ text: proofText(proof), plain: plainProof(proof) });
    return { proofs };
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    progress.say(`interrupted; ${count(proofs.length, "workload")} rolled`);
    return { proofs: proofs.length === 0 ? undefined : proofs, interrupted: interrupt.exitCode };
  } finally {
    progress.done();
    interrupt.release();
  }
}
