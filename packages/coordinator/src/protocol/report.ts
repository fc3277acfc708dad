import { type ConsumerReport, type OtherVersionMessage, parseConsumerReport } from "@lameduck/protocol";
import { isNodeProxy } from "@lameduck/senders";

/** A report, and by which name. */
export interface NamedReport extends ConsumerReport {
  readonly name: string;
}

/** @param name from the path: "KIND/NAME", or only the name. @returns what is wrong with it otherwise. */
export function parseReport(text: string, name: string): NamedReport | OtherVersionMessage | string {
  const parsed = parseConsumerReport(text);
  if (typeof parsed === "string" || "version" in parsed) return parsed;
  const own = name.startsWith(`${parsed.kind}/`) ? name.slice(parsed.kind.length + 1) : name;
  if (!/^[\w.:-]{1,253}$/.test(own)) return "the name in the path is none";
  const report = { name: own, ...parsed };
  if (isNodeProxy(report) && own !== report.node) return "node: a proxy of a node has that node's name";
  return report;
}
