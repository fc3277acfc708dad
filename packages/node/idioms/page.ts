/** docs/evidence/shutdown-idioms.md: the list of idioms, from the programs themselves. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatPage } from "../../../scripts/format-page.ts";
import { idioms, type Idiom } from "./idiom.ts";
import { wanted } from "./install.ts";

const page = join(import.meta.dirname, "../../../docs/evidence/shutdown-idioms.md");
const [begin, end] = [
  "<!-- idioms: npx node packages/node/idioms/main.ts --page -->",
  "<!-- end of idioms -->",
];

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
        .map(
          (idiom) => `| ${idiom.name}${idiom.isQuick ? " *" : ""} | ${idiom.what} | ${versionsOf(idiom)} |`,
        );
      return [`### ${title}`, "", "| idiom | at its end | packages |", "| --- | --- | --- |", ...rows].join(
        "\n",
      );
    })
    .join("\n\n");
}

/** The page as it has to be. */
export async function expectedPage(): Promise<string> {
  const text = readFileSync(page, "utf8");
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error("docs/evidence/shutdown-idioms.md has no marks for the tables");
  return formatPage(`${text.slice(0, from)}${begin}\n\n${await tables()}\n\n${text.slice(to)}`);
}

export const writtenPage = (): string => readFileSync(page, "utf8");

export async function writePage(): Promise<void> {
  writeFileSync(page, await expectedPage());
}
