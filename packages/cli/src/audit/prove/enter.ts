import type { Audit, AuditOptions } from "@lameduck/audit";
import { enterStage } from "@lameduck/stage";
import { catchInterrupt } from "../../interrupt.ts";
import { Progress } from "../../progress.ts";
import { prove, type Proof } from "./prove.ts";

/**
 * Runs this very command line again where pods have a network, processes and files of their own: what the program of a manifest does
 * there stays there.
 */
export function enterLab(): Promise<number> {
  const [, program = "", ...rest] = process.argv;
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  return enterStage(program, rest, { network: "namespaces", say });
}

export interface Proven {
  readonly proofs: readonly Proof[];
  /** Ctrl-C: the exit code that says so. What was rolled before is kept. */
  readonly interrupted?: number;
}

export async function proofsOf(audit: Audit, options: AuditOptions): Promise<Proven> {
  const interrupt = catchInterrupt();
  const progress = new Progress();
  const proofs: Proof[] = [];
  try {
    for await (const proof of prove(audit, options, { progress, signal: interrupt.signal }))
      proofs.push(proof);
    return { proofs };
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    progress.say(`interrupted; ${proofs.length} workloads rolled`);
    return { proofs, interrupted: interrupt.exitCode };
  } finally {
    progress.done();
    interrupt.release();
  }
}
