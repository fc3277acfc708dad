import { adviseCommand, type ScenarioFlags } from "@lameduck/simulator";
import { printable } from "@lameduck/drain/common";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { publish } from "../output.ts";
import { workloadsOf, type Advised } from "./manifests.ts";

export interface AdviseOptions extends ScenarioFlags {
  readonly file?: readonly string[];
  readonly recording?: string;
  readonly json?: string;
  readonly patch?: string;
}

/** What the settings should be, for the scenario or for each workload of the files. @returns the exit code. */
export async function advise(
  scenario: string | undefined,
  { file, ...options }: AdviseOptions,
): Promise<number> {
  if (file !== undefined) return adviseEach(file, scenario, options);
  show([await adviseCommand({ ...options, scenario })], options);
  return exitCodes.clean;
}

type Advice = Awaited<ReturnType<typeof adviseCommand>> & { readonly workload?: Advised };

async function adviseEach(
  paths: readonly string[],
  scenario: string | undefined,
  options: Omit<AdviseOptions, "file">,
): Promise<number> {
  const { workloads, failures } = await workloadsOf(paths);
  for (const failure of failures) report(failure);
  if (workloads.length === 0) {
    if (failures.length > 0) return exitCodes.usage;
    throw badOption(
      "--file",
      "has no workload that a rollout replaces: a Deployment, a StatefulSet, a DaemonSet or a Rollout",
    );
  }
  const advices: Advice[] = [];
  for (const workload of workloads) {
    const { object, place, container } = workload;
    const given = { ...options, scenario, manifest: { object, place }, container };
    advices.push({ ...(await adviseCommand(given)), workload });
  }
  show(advices, options);
  return failures.length > 0 ? exitCodes.usage : exitCodes.clean;
}

/** JSON is one line for each workload, patches are documents in a row. */
function show(advices: readonly Advice[], options: Pick<AdviseOptions, "json" | "patch">): void {
  const spelt = ({ workload }: Advice): string =>
    workload === undefined ? "" : printable(`${workload.place}: ${workload.name}`);
  const jsonLines = (): string =>
    advices
      .map(({ json: advice, workload }) => {
        const { name, place } = workload ?? {};
        return `${JSON.stringify(workload ? { ...advice, workload: { name, place } } : advice)}\n`;
      })
      .join("");
  publish(
    () => advices.map((one) => (one.workload ? `${spelt(one)}\n${one.text}` : one.text)).join("\n"),
    options,
    {
      json: jsonLines,
      patch: () =>
        advices.map((one) => (one.workload ? `# ${spelt(one)}\n${one.patch}` : one.patch)).join("---\n"),
    },
  );
}
