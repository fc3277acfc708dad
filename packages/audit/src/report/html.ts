import { htmlPage } from "@lameduck/accounting/html-page";
import { element, escape, paragraph, table } from "@lameduck/accounting/markup";
import { printable } from "@lameduck/drain/common";
import type { Audit } from "../audit.ts";
import { severities, type Finding, type Severity } from "../finding.ts";
import { spellOrigin } from "../model/amount.ts";
import { excerpt, regionOf } from "./excerpt.ts";
import { byNamespace, byRule, type RuleRow } from "./overview.ts";
import { isLive, nextStepOf, placeOf, whoseOf } from "./sentence.ts";
import { labelOf, totals } from "./totals.ts";

/** Classes of the reports' style. */
const kinds = { error: "loses", warning: "overruns", info: "quiet", unknown: "untested" } as const;

/** One file without a script: the numbers, then each rule with all its findings. @param rulePage the address of a rule's page. */
export function htmlReport(audit: Audit, rulePage: (id: string) => string | undefined): string {
  const texts = new Map(audit.files.map(({ name, text }) => [name, text]));
  const rows = byRule(audit);
  return htmlPage("audit", [
    element("h1", {}, "Will these workloads lose requests?"),
    paragraph(printable(totals(audit)), "advice"),
    element("h2", {}, "By namespace"),
    namespaces(audit),
    element("h2", {}, "By rule"),
    rules(rows),
    ...rows.map((row) => section(row, rulePage, (file) => texts.get(file) ?? "")),
    ...(audit.suppressed.length > 0 ? [suppressed(audit.suppressed)] : []),
    ...(audit.failures.length > 0 ? [notRead(audit)] : []),
  ]);
}

function cell(value: number, severity: Severity): string {
  return element("td", value > 0 ? { class: kinds[severity] } : {}, String(value));
}

function namespaces(audit: Audit): string {
  const head = ["namespace", "workloads", ...severities.map((one) => labelOf(one))];
  return table(
    "by namespace",
    head.map((one) => element("th", { scope: "col" }, escape(one))),
    byNamespace(audit).map(({ namespace, workloads, counts }) =>
      element(
        "tr",
        {},
        element("td", {}, escape(printable(namespace))),
        element("td", {}, String(workloads)),
        ...severities.map((severity) => cell(counts[severity], severity)),
      ),
    ),
  );
}

function rules(rows: readonly RuleRow[]): string {
  return table(
    "by rule",
    ["rule", "workloads", ...severities.map((one) => labelOf(one)), "what it finds"].map((one) =>
      element("th", { scope: "col", ...(one === "what it finds" ? { class: "text" } : {}) }, one),
    ),
    rows.map(({ rule, title, counts, workloads }) =>
      element(
        "tr",
        {},
        element("td", {}, element("a", { href: `#${rule}` }, rule)),
        element("td", {}, String(workloads)),
        ...severities.map((severity) => cell(counts[severity], severity)),
        element("td", { class: "text" }, escape(title)),
      ),
    ),
  );
}

function section(
  { rule, title, findings }: RuleRow,
  rulePage: (id: string) => string | undefined,
  textOf: (file: string) => string,
): string {
  return element(
    "section",
    { id: rule },
    element("h2", {}, escape(title)),
    element("p", { class: "soft" }, named(rule, rulePage(rule))),
    ...findings.map((finding) => block(finding, textOf)),
  );
}

const named = (rule: string, address: string | undefined): string =>
  address === undefined ? escape(rule) : element("a", { href: address }, rule);

function block(finding: Finding, textOf: (file: string) => string): string {
  const { severity, message, arithmetic, fix, at } = finding;
  const terms = (arithmetic?.terms ?? []).map(
    ({ name, origin }) =>
      element("dt", {}, escape(printable(name))) + element("dd", {}, escape(printable(spellOrigin(origin)))),
  );
  const lines = isLive(at.source.file) ? [] : excerpt(regionOf(at, textOf));
  return element(
    "div",
    {},
    element("h3", {}, escape(printable(whoseOf(finding)))),
    element(
      "p",
      {},
      element("span", { class: `verdict ${kinds[severity]}` }, `${labelOf(severity)}:`),
      ` ${escape(printable(message))}`,
    ),
    paragraph(printable(placeOf(finding))),
    ...(lines.length > 0
      ? [element("pre", { class: "scroll" }, escape(lines.map(printable).join("\n")))]
      : []),
    ...(arithmetic ? [paragraph(printable(arithmetic.sum), "plain"), element("dl", {}, ...terms)] : []),
    paragraph(printable(nextStepOf(finding)), "plain"),
    ...(fix ? [paragraph(printable(`fix: ${fix.does}`), "plain")] : []),
  );
}

function suppressed(findings: readonly Finding[]): string {
  const items = findings.map((finding) =>
    element(
      "li",
      {},
      escape(
        printable(
          `${whoseOf(finding)}: ${finding.message} [${finding.rule}]: ${finding.suppressed?.reason ?? ""}`,
        ),
      ),
    ),
  );
  return element("section", {}, element("h2", {}, "Suppressed"), element("ul", {}, ...items));
}

function notRead({ failures }: Audit): string {
  const items = failures.map(({ message, code, remedy }) =>
    element("li", {}, escape(printable(`${message} (${code}); ${remedy}`))),
  );
  return element("section", {}, element("h2", {}, "Not read"), element("ul", {}, ...items));
}
