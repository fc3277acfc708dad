/** Which files are pages of the site, where they stand there, and where their links lead. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

export const root = join(import.meta.dirname, "..");

/** The root's pages that are read beside those of docs/; the rest of the tree is for who reads the code. */
const ofTheRoot: Readonly<Record<string, string>> = {
  "README.md": "index.md",
  "CONTRIBUTING.md": "contributing/index.md",
  "SECURITY.md": "security.md",
  "CHANGELOG.md": "changelog.md",
};

/** Files of docs/ that are no pages, such as manifests and pictures, which pages link to. */
export const attachments: readonly string[] = globSync("docs/**/*", { cwd: root, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.endsWith(".md"))
  .map((entry) => relative(root, join(entry.parentPath, entry.name)));

export const files: readonly string[] = [
  ...Object.keys(ofTheRoot),
  ...globSync("docs/**/*.md", { cwd: root }).sort(),
];

/** A file's place in the site, from its place in the repository: both with `.md`. */
export function placeOf(file: string): string {
  return ofTheRoot[file] ?? file.replace(/^docs\//, "");
}

/** What the first heading of a page says. */
export function titleOf(file: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1] ?? file;
  return heading.replaceAll("`", "");
}

/** The name of a heading in addresses, which is the name that GitHub gives to it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** `address` in the site's source, or undefined for a file that the site does not have. */
export type Link = { readonly address: string | undefined; readonly file: string };

/** Where a link of a file of the repository leads. Undefined for links that are no paths: they stay as they are. */
export function linkOf(file: string, link: string): Link | undefined {
  if (link.startsWith("#") || link.startsWith("/") || /^[a-z][a-z0-9+.-]*:/i.test(link)) return undefined;
  const [path = "", anchor] = link.split("#");
  const target = posix.join(posix.dirname(file), decodeURI(path));
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (files.includes(target)) return { file: target, address: `/${placeOf(target)}${suffix}` };
  if (attachments.includes(target)) return { file: target, address: `/${placeOf(target)}` };
  if (!existsSync(join(root, target))) return { file: target, address: `/${target}${suffix}` };
  return { file: target, address: undefined };
}

interface Folder {
  readonly text: string;
  readonly folder: string;
  /** Pages that come before the others, which follow by title. */
  readonly first: readonly string[];
  /** Outside the folder itself its heading alone is shown, as a link to its first page. */
  readonly long?: boolean;
}

const folders: readonly Folder[] = [
  { text: "Start", folder: "start", first: ["node", "any-software", "platform", "check-a-deploy"] },
  {
    text: "Understand",
    folder: "understand",
    first: ["glossary", "how-it-works", "why-not-sleep", "when-it-loses"],
  },
  { text: "Operate", folder: "operate", first: ["why-is-my-pod-still-there", "install", "upgrade"] },
  { text: "Tools", folder: "tools", first: ["audit", "check", "lab", "rollout"] },
  { text: "Reference", folder: "reference", first: ["library", "init", "options", "errors"] },
  { text: "Rules of the audit", folder: "rules", first: [], long: true },
  { text: "Evidence", folder: "evidence", first: ["results"] },
  {
    text: "Contributing",
    folder: "contributing",
    first: ["index", "first-tasks", "architecture"],
    long: true,
  },
];

interface SideBarGroup {
  readonly text: string;
  readonly link?: string;
  readonly items?: { readonly text: string; readonly link: string }[];
}

/** By folder of the page: a group per folder. A folder that is new stands at the end, under its own name, until it has a row above. */
export function sideBars(): Record<string, SideBarGroup[]> {
  const known = folders.map(({ folder }) => folder);
  const used = files.map((file) => dirname(placeOf(file))).filter((folder) => folder !== ".");
  const unknown = [...new Set(used)].filter((folder) => !known.includes(folder));
  const groups = [...folders, ...unknown.map((folder): Folder => ({ text: folder, folder, first: [] }))].map(
    (one) => ({ ...one, items: itemsOf(one) }),
  );
  const seenFrom = (from: string): SideBarGroup[] =>
    groups.map(({ text, folder, long, items }) =>
      long && folder !== from ? { text, link: items[0]!.link } : { text, items },
    );
  const own = groups.filter(({ long }) => long).map(({ folder }) => [`/${folder}/`, seenFrom(folder)]);
  return Object.fromEntries([...own, ["/", seenFrom("")]]) as Record<string, SideBarGroup[]>;
}

/** Of a title such as "Surge: another pod first" the bar shows the first words. */
function itemsOf({ folder, first }: Folder): { text: string; link: string }[] {
  const rank = (file: string): number => {
    const index = first.indexOf(posix.basename(placeOf(file), ".md"));
    return index < 0 ? first.length : index;
  };
  return files
    .filter((file) => dirname(placeOf(file)) === folder)
    .map((file) => ({ text: titleOf(file).replace(/: .*/, ""), link: `/${placeOf(file)}`, rank: rank(file) }))
    .sort((a, b) => a.rank - b.rank || a.text.localeCompare(b.text, "en"))
    .map(({ text, link }) => ({ text, link }));
}
