/**
 * Writes docs/reference/errors.md from the catalogues in the code; `--check` only compares, and exits with 1 where they differ. A code is any
 * `LAMEDUCK_...` key of an exported object whose name ends in "Errors".
 */
import { globSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";
import { formatPage, writeMade } from "./format-page.ts";
import { exitCodeOfError, exitCodes } from "../packages/cli/src/exit-codes.ts";

const page = new URL("../docs/reference/errors.md", import.meta.url);

const titles: Record<string, string> = {
  drain: "The decision (options of every policy)",
  node: "@lameduck/node",
  kube: "rollout: the cluster",
  init: "@lameduck/init",
  manifests: "Manifests",
  load: "The load, and results of other load tools",
  stage: "lab: the local stage",
  images: "Images of lab and audit",
  simulator: "simulate",
  audit: "audit",
  protocol: "inject and the operator",
  cli: "Command line",
  e2e: "The test cluster",
};

const files = [...globSync("packages/*/{src,toolchain,image}/**/errors.ts").sort(), "e2e/cluster/errors.ts"];
const sections = new Map<string, Map<string, string>>();
for (const file of files) {
  const [folder = "", below = ""] = file.split("/");
  const name = folder === "packages" ? below : folder;
  const exported = (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  for (const [key, catalogue] of Object.entries(exported)) {
    if (!key.endsWith("Errors") || typeof catalogue !== "object" || catalogue === null) continue;
    const section = sections.get(name) ?? new Map<string, string>();
    for (const [code, remedy] of Object.entries(catalogue)) section.set(code, String(remedy));
    sections.set(name, section);
  }
}

const endsWith = (code: string): string => {
  const exitCode = exitCodeOfError(code);
  return exitCode === exitCodes.usage ? "" : ` (exit code ${exitCode})`;
};

const body = Object.entries(titles)
  .filter(([name]) => sections.has(name))
  .map(([name, title]) => {
    const rows = [...sections.get(name)!].map(
      ([code, remedy]) => `- \`${code}\`${endsWith(code)}: ${remedy}.`,
    );
    return `## ${title}\n\n${rows.join("\n")}`;
  })
  .join("\n\n");
const text = await formatPage(`# Errors

Every error has a stable code, a place and a remedy. A message has one line: \`error PLACE: PROBLEM [CODE]; REMEDY\`.
\`lameduck help CODE\` explains a code.

## Exit codes

| Code          | Meaning                                                                                             |
| ------------- | --------------------------------------------------------------------------------------------------- |
| 0             | clean                                                                                               |
| 1             | losses or findings, see below                                                                       |
| 2             | usage: a mistake on the command line, or in a file that it names                                    |
| 3             | internal: a defect of Lameduck                                                                      |
| 4             | cluster or environment: unreachable, forbidden, did not finish, a pod crashed, a program is missing |
| 5             | untested: nothing was lost, but some terminations had no load, which proves nothing                 |
| 129, 130, 143 | interrupted by SIGHUP, Ctrl-C or SIGTERM (128 + the signal's number); the results so far are kept   |

What 1 means, by command:

- \`lab\`, \`rollout\`: requests were lost, or a pod was killed. \`--allow-loss\` makes it 0.
- \`audit\`: errors or warnings were found. Its 5 means that only unknowns are left.
- \`status\`: Lameduck is not installed or not ready, or a restart would bring it to a pod.
- \`report\`: a pod was killed at the end of its grace period, or a sender never stopped sending. Its 5 means that there
  is no report. Of two files: the second run lost more.
- \`check\`: Lameduck cannot be installed, or injected pods would not be admitted.
- \`why\`: somebody must act. \`end\`: nothing was held.

An error without an exit code below ends with 2.

${body}
`);

writeMade(
  page,
  text,
  "docs/reference/errors.md is not what the catalogues say: run node scripts/errors-page.ts",
);
