/** docs/evidence/shutdown-idioms.md: the list of idioms, from the programs themselves. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable, pageWithin } from "../../../scripts/format-page.ts";
import { idioms, type Idiom } from "./idiom.ts";
import { wanted } from "./install.ts";

const page = join(import.meta.dirname, "../../../docs/evidence/shutdown-idioms.md");

const titles: Readonly<Record<string, string>> = {
  handlers: "Signal handlers",
  connections: "Connections and listeners",
  signals: "Other signals, errors",
  flow: "Clean-up in the main flow",
  libraries: "Packages for shutting down",
  frameworks: "Frameworks",
  protocols: "Protocols",
  work: "Queues, pools, threads, child processes",
  telemetry: "Telemetry",
  parents: "Programs that start programs",
  clusters: "Several processes, one listener",
  runners: "Test runners",
};

const versionsOf = (idiom: Idiom): string => idiom.needs.map((name) => `${name} ${wanted[name]}`).join(", ");

/** The tables between the page's marks. @throws where a group has no title. */
async function tables(): Promise<string> {
  const all = await idioms();
  const stranger = all.find(({ group }) => !(group in titles));
  if (stranger) throw new Error(`groups/${stranger.group}.mjs has no title in page.ts`);
  return Object.entries(titles)
    .map(([group, title]) => {
      const rows = all
        .filter((idiom) => idiom.group === group)
        .map((idiom) => [`${idiom.name}${idiom.isQuick ? " *" : ""}`, idiom.what, versionsOf(idiom)]);
      return `### ${title}\n\n${markdownTable(["idiom", "at its end", "packages"], rows)}`;
    })
    .join("\n\n");
}

/** The page as it has to be. */
export async function expectedPage(): Promise<string> {
  return pageWithin(writtenPage(), "idioms", await tables());
}

export const writtenPage = (): string => readFileSync(page, "utf8");

export async function writePage(): Promise<void> {
  writeFileSync(page, await expectedPage());
}
