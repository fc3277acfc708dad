import { Command } from "commander";
import { parseTrace, replay } from "@lameduck/drain";
import { fileProblem } from "@lameduck/drain/common";
import { CliError } from "../errors.ts";
import { ending } from "../help/ending.ts";
import { textOf } from "../input.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { explanationJson } from "./json.ts";
import { explanationPage } from "./page.ts";
import { explanationText } from "./text.ts";

interface Options {
  readonly json?: string;
  readonly html?: string;
}

/** How many moments of the hold the charts show. */
const moments = 120;

/** `lameduck explain`: why one hold took as long as it did. */
export function explain(): Command {
  return new Command("explain")
    .description(
      "Explain why one pod held so long, from a recording of its hold: which sender it waited for, and the expected loss over time.",
    )
    .argument("<file>", "a recording that LAMEDUCK_TRACE (or lameduck-init --trace) wrote; - is stdin")
    .addHelpText("after", examples)
    .action(async (file: string, options: Options) => {
      checkOutputs(outputFiles(options, "json", "html"));
      const text = await recordingOf(file);
      const name = file === "-" ? "stdin" : file;
      const trace = parseTrace(text, name);
      const recordings = text.split('{"lameduck":"trace"').length - 1;
      if (recordings > 1)
        process.stderr.write(`warning ${name}: it has ${recordings} recordings, and this is the first\n`);
      const explained = { trace, replayed: replay(trace, moments) };
      publish(() => explanationText(explained), options, {
        json: () => `${JSON.stringify(explanationJson(explained))}\n`,
        html: () => explanationPage(explained),
      });
    });
}

async function recordingOf(file: string): Promise<string> {
  try {
    return await textOf(file);
  } catch (error) {
    throw new CliError("LAMEDUCK_TRACE_UNREADABLE", file, fileProblem(error));
  }
}

const examples = ending(
  `
Examples:
  $ lameduck explain /var/log/lameduck/lameduck-web-7d4b9c-x2k4p-1.jsonl
  $ lameduck explain hold.jsonl --out hold.html

A pod records its hold if LAMEDUCK_TRACE is set to a file or a folder. Use a
volume that outlives the pod.`,
  "0 done, 2 usage, 3 internal",
  "docs/tools/explain.md",
);
