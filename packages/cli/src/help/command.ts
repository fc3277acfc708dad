import { causes } from "@lameduck/accounting";
import { eventMeanings } from "@lameduck/cluster";
import { reasonCodes, reasonRemedies } from "@lameduck/inject";
import { Command } from "commander";
import { hasPage, pages, pagesIn, pageText, withAddresses } from "../about.ts";
import { CliError } from "../errors.ts";
import { exitCodeOfError, exitCodes, exitCodesText } from "../exit-codes.ts";
import { columns } from "../output.ts";
import { errorCodes, remediesOf, type ErrorCode } from "./catalogue.ts";
import { meanings } from "./meanings.ts";

/** `lameduck help`: commands, and what every error code means. */
export function help(): Command {
  return new Command("help")
    .description(
      "Explain a command, an error code, a word of a report, a cause of loss, a rule of the audit, an Event or a reason of an injection.",
    )
    .argument(
      "[topic...]",
      'a command, an error code such as LAMEDUCK_NO_KUBECONFIG, a word such as oracle, a cause of loss such as C2, a rule such as no-lame-duck, an Event such as DrainCapped, a reason such as held-by-hook; or a list: codes, rules, causes, events, reasons, exit-codes; or a page such as docs/tools/lab or "why not sleep"; any other word is looked up in all of these',
    )
    .action((words: readonly string[], _options: unknown, { parent }: Command) => {
      const topic = words.length === 0 ? undefined : words.join(" ");
      const command = topic === undefined ? parent : parent?.commands.find((one) => one.name() === topic);
      if (command) command.outputHelp();
      else process.stdout.write(listOf(topic ?? "") ?? explain(topic ?? ""));
    });
}

/** Everything of a kind, a line each; or a page by its path. */
function listOf(topic: string): string | undefined {
  const page = /^docs\/((?:[\w-]+\/)?[\w-]+?)(?:\.md)?(?:#.*)?$/.exec(topic)?.[1];
  if (page !== undefined && hasPage(`${page}.md`)) return pageText(`${page}.md`);
  switch (topic.replaceAll(/[\s-]+/g, " ")) {
    case "codes":
      return `${errorCodes().sort().join("\n")}\n`;
    case "rules":
      return table(pagesIn("rules").map((name) => [name, titleOfRule(name)]));
    case "causes":
      return table(Object.entries(causes));
    case "events":
      return table(Object.entries(eventMeanings));
    case "reasons":
      return table(Object.entries(reasonCodes));
    case "exit codes":
      return exitCodeLines()
        .map((line) => `${line}\n`)
        .join("");
    default:
      return undefined;
  }
}

const exitCodeLines = (): string[] => exitCodesText.split(/, (?=\d |129)/);

/** An exit code that a script has seen. */
function exitCodeText(topic: string): string | undefined {
  const line = exitCodeLines().find((one) => one.match(/\d+/g)?.includes(topic));
  return line && `${withAddresses(`exit code ${line}\n\nMore: docs/reference/errors.md`)}\n`;
}

const table = (rows: readonly (readonly [string, string])[]): string =>
  columns(rows)
    .map((line) => `${line}\n`)
    .join("");

const titleOfRule = (name: string): string =>
  /^\*\*(.*)\.\*\*$/m.exec(pageText(`rules/${name}.md`))?.[1] ?? "";

/** An Event or a reason of an injection. */
function meaningText(topic: string): string | undefined {
  const all: Readonly<Record<string, string>> = { ...eventMeanings, ...reasonCodes };
  const remedies: Readonly<Record<string, string>> = reasonRemedies;
  const name = Object.keys(all).find((one) => one.toLowerCase() === topic.toLowerCase());
  if (name === undefined) return undefined;
  const remedy = remedies[name];
  return `${name}\n\n${all[name] ?? ""}\n${remedy === undefined ? "" : `Remedy:\n  ${remedy}.\n`}`;
}

/** A cause of loss, as its page explains it. */
function causeText(topic: string): string | undefined {
  const cause = Object.keys(causes).find((one) => one.toLowerCase() === topic.toLowerCase());
  const section = sectionsOf("understand/causes.md").find((one) => one.startsWith(`${cause}: `));
  return (
    section && withAddresses(`${section.trim()}\n\nMore: docs/understand/causes.md\n`, "understand/causes.md")
  );
}

/** Each begins with its heading. */
const sectionsOf = (page: string): string[] =>
  pageText(page)
    .split(/^#{2,3} /m)
    .slice(1);

const headOf = (section: string): string => section.split("\n", 1)[0] ?? "";

const plain = (word: string): string => word.toLowerCase().replaceAll(/[\s_-]+/g, " ");

/** A page by its path below docs or by its last name. Where several have that name, how to ask for each. */
function namedPageText(topic: string): string | undefined {
  const wanted = plain(topic.replace(/\.md$/, ""));
  const named = pages().filter((page) => `/${plain(page)}`.endsWith(`/${wanted}.md`));
  const [only] = named;
  return named.length > 1
    ? named.map((page) => `lameduck help docs/${page}\n`).join("")
    : only && pageText(only);
}

/** A word of reports, as their page explains it. "sleep-5" is a sleep-N. */
function wordText(topic: string): string | undefined {
  const wanted = plain(topic.replace(/^(sleep-)\d+$/i, "$1N"));
  const section = sectionsOf("understand/glossary.md").find((one) => plain(headOf(one)) === wanted);
  return (
    section &&
    withAddresses(`${section.trim()}\n\nMore: docs/understand/glossary.md\n`, "understand/glossary.md")
  );
}

/** A rule of the audit, as its page explains it, without the examples. */
function ruleText(topic: string): string | undefined {
  const page = `rules/${topic}.md`;
  const [text] = /^[a-z-]+$/.test(topic) && hasPage(page) ? pageText(page).split("\n## ") : [];
  return text && `${text.slice("# ".length).trim()}\n\n${withAddresses(`More: docs/${page}`)}\n`;
}

/** What has a word in its name or title, and then what explains a word or a cause by it, or has it in a heading. */
function relatedText(topic: string): string | undefined {
  if (!/^\w.{2,}/.test(topic)) return undefined;
  const pattern = new RegExp(`(?<!\\w)${plain(topic).replaceAll(/[^\w ]/g, "\\$&")}`);
  const known = [
    ...sectionsOf("understand/glossary.md").map((text) => {
      const [, title = ""] = /\n\n(.+?\.)(?:\s|$)/s.exec(text) ?? [];
      return { name: headOf(text), title: title.replaceAll("\n", " "), text };
    }),
    ...sectionsOf("understand/causes.md").map((text) => {
      const [name = "", title = ""] = headOf(text).split(": ");
      return { name, title, text };
    }),
    ...pagesIn("rules").map((name) => ({ name, title: titleOfRule(name), text: "" })),
    ...pages()
      .filter((page) => !/^(?:rules|contributing)\/|\/(?:glossary|causes)\.md$/.test(page))
      .map((page) => {
        const [title = "", ...others] = pageText(page).match(/(?<=^#+ ).*/gm) ?? [];
        return { name: `docs/${page}`, title, text: others.join("\n") };
      }),
  ];
  const has = (text: string): boolean => pattern.test(plain(text));
  const isNamed = ({ name, title }: (typeof known)[number]): boolean => has(`${name}\n${title}`);
  const found = [...known.filter(isNamed), ...known.filter((one) => !isNamed(one) && has(one.text))];
  return found.length === 0
    ? undefined
    : table(found.map(({ name, title }) => [`lameduck help ${name}`, title]));
}

/** @throws {CliError} where there is no such topic. */
export function explain(topic: string): string {
  const text =
    causeText(topic) ??
    wordText(topic) ??
    ruleText(topic) ??
    meaningText(topic) ??
    exitCodeText(topic) ??
    namedPageText(topic);
  if (text !== undefined) return text;
  const name = topic.toUpperCase().replaceAll(/[\s-]+/g, "_");
  const code = name.startsWith("LAMEDUCK_") ? name : `LAMEDUCK_${name}`;
  const remedies = remediesOf(code);
  if (remedies.length === 0) {
    const related = relatedText(topic);
    if (related !== undefined) return related;
    throw new CliError(
      "LAMEDUCK_UNKNOWN_TOPIC",
      "lameduck help",
      `"${topic}" is no command, no error code, no cause of loss, no word of reports (docs/understand/glossary.md), no rule of the audit, no Event, no reason of an injection, no exit code and no page`,
    );
  }
  const lines = remedies.map(({ of, remedy }) => `  ${remedies.length > 1 ? `${of}: ` : ""}${remedy}.`);
  const exitCode = exitCodeOfError(code);
  const what = exitCode === exitCodes.environment ? "cluster or environment" : "usage";
  return `${code}\n\nMeaning:\n  ${meanings[code as ErrorCode]}\nRemedy:\n${lines.join("\n")}\nExit code:\n  ${exitCode} (${what})\n`;
}
