import { readStream } from "@lameduck/manifests";
import { OperatorError } from "@lameduck/protocol";
import { validatePolicy, type Architecture, type ManifestOptions } from "@lameduck/inject";
import { version } from "../about.ts";
import { fileText } from "../input.ts";
import { minorFrom } from "../audit/options.ts";

export interface Options {
  readonly policy?: string;
  readonly kubernetes?: string;
  readonly arch?: readonly Architecture[];
  readonly diff?: boolean;
  readonly write?: boolean;
  readonly json?: string;
  readonly remove?: boolean;
  readonly replaceSleep?: boolean;
}

/** @throws {CliError} LAMEDUCK_BAD_OPTION */
export function factsFrom({ kubernetes, arch }: Options): ManifestOptions["facts"] {
  const minor = minorFrom(kubernetes, "--kubernetes");
  return {
    lameduckVersion: version(),
    isUndoable: true,
    version: minor === undefined ? undefined : { major: 1, minor },
    architectures: arch,
  };
}

/** @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_POLICY for the first thing that is wrong with it. */
export function policyFrom(file: string | undefined): unknown {
  if (file === undefined) return undefined;
  const bad = (problem: string, remedy?: string): OperatorError =>
    new OperatorError("LAMEDUCK_OPERATOR_BAD_POLICY", file, problem, { remedy });
  const text = fileText(file, (problem) => bad(problem, "name a file that exists and may be read"));
  const { objects, failures } = readStream(text, file, (kind) => kind === "DrainPolicy");
  const [failure] = failures;
  if (failure) throw failure;
  const [policy, second] = objects;
  if (policy === undefined || second !== undefined)
    throw bad(
      `holds ${policy === undefined ? "no DrainPolicy" : "more than one"}`,
      "name a file with one DrainPolicy",
    );
  const [problem] = validatePolicy(policy.plain());
  if (problem) throw bad(`${problem.field}: ${problem.message}`, problem.remedy);
  return policy.plain();
}
