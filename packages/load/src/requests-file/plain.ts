import { BadLine, quoted } from "./errors.ts";
import { asCount, asTime, readObject, type Parser, type ParserContext } from "./parser.ts";

/** The keys of our own form, one object a line. docs/tools/rollout.md explains them. */
const keys = new Set(["time", "url", "status", "error", "latency", "pod", "connection"]);

export function plain(context: ParserContext): Parser {
  return {
    line: (line, number) => {
      if (line.trim() === "") return;
      const object = readObject(line, number);
      const unknown = Object.keys(object).find((key) => !keys.has(key));
      if (unknown !== undefined)
        throw new BadLine(number, `${quoted(unknown)} is not one of ${[...keys].join(", ")}`);
      const text = (key: string): string => {
        const value = object[key] ?? "";
        if (typeof value === "string") return value;
        throw new BadLine(number, `${key} is not a text`);
      };
      const { time, status = 0, latency = 0 } = object;
      let begun = asTime(time, number);
      if (!String(time).includes(".")) {
        const resolution = 1_000;
        context.coarse(resolution);
        begun += resolution / 2;
      }
      if (status !== 0 && !(Number.isInteger(status) && Number(status) >= 100 && Number(status) <= 999))
        throw new BadLine(number, `${quoted(JSON.stringify(status))} is not a status`);
      const [error, connection] = [text("error"), text("connection")];
      if (status === 0 && error === "") throw new BadLine(number, "has neither a status nor an error");
      if (!["", "new", "reused"].includes(connection))
        throw new BadLine(number, `${quoted(connection)} is neither "new" nor "reused"`);
      context.emit({
        begun,
        finished: begun + asCount(latency, "latency", number),
        url: text("url") || undefined,
        status: Number(status),
        error,
        pod: text("pod") || undefined,
        reused: connection === "" ? undefined : connection === "reused",
      });
    },
    end: () => undefined,
  };
}
