import type { Edit } from "@lameduck/manifests";
import { exposureOf, servingContainers } from "../facts/serving.ts";
import { fixOf } from "./edits.ts";
import type { Container } from "../model/container.ts";
import { servedBy } from "../model/pid-one.ts";
import { harmOf } from "../model/served.ts";
import { plainCommand, programOf, scriptOf } from "../model/shell/commands.ts";
import type { Context, Rule } from "../rule.ts";

export const shellSwallowsTerm: Rule = {
  id: "shell-swallows-term",
  isOfLinux: true,
  title: "A shell or a package manager is PID 1, and SIGTERM may never come to the server",
  meaning: `The kubelet signals PID 1 of the container. A shell that waits for its child does not pass SIGTERM on. As PID 1 it does not end at
SIGTERM either. So the server gets nothing until SIGKILL at the end of the grace period. Requests in flight are cut, every deploy takes the whole grace
period, and the server's graceful stop never runs. \`npm\` and \`yarn\` start the script through a shell of their own.

Some shells replace themselves by their last command. This was measured: bash 5.1 to 5.3 does, where that command has no redirection and stands in no
loop, branch or group; the ash of busybox 1.30 to 1.38 (the \`sh\` of Alpine) does, where the script does not end with a line break; dash 0.5.11 and 0.5.12
(the \`sh\` of Debian and Ubuntu) does not. None does that has set a trap, or runs a script that is a file.

A trap runs only when the command in the foreground has ended. A trap also ends \`wait\`. Without a second \`wait\` the shell then ends before the
server, and the server is killed.

The audit reads the script, and goes through programs that are replaced by what they start, such as \`env\`, \`gosu\` and \`exec\` itself. It reads a
script that is mounted from a ConfigMap of the input, and none that is a file of the image.`,
  remedy:
    "Make the server PID 1: `command: [node, server.js]`, or `exec` before the shell's last command, or an init that signals the group",
  references: ["https://docs.docker.com/reference/dockerfile/#exec-form-entrypoint-example"],
  symptom: { causes: ["C4", "C5"], killed: true },
  *check(workload, context) {
    if (exposureOf(workload) === "none") return;
    const serving = servingContainers(workload);
    for (const container of workload.containers) {
      const { argv = [], pidOne } = container.served ?? {};
      if (pidOne === undefined) continue;
      // A container beside the server that only waits, after it has prepared something.
      if (!serving.includes(container) && /^(?:sleep|tail)$/.test(programOf(argv[0]))) continue;
      const { what, because, certainty, instead, behind } = pidOne;
      const base = { at: container.argvField, container: container.name };
      if (certainty === "unknown")
        yield {
          ...base,
          severity: "unknown",
          message: `whether SIGTERM comes to the server behind \`${what}\`: ${because}`,
          answers: [
            "end the script with `exec SERVER`",
            'annotation lameduck.dev/ignore-shell-swallows-term: "it does"',
          ],
        };
      else
        yield {
          ...base,
          severity: certainty === "certain" ? "error" : "warning",
          message:
            behind === undefined
              ? `PID 1 is \`${what}\`, and ${harmOf(pidOne)}: ${because}`
              : `\`${what}\` stands between ${behind} and the server, and ${harmOf(pidOne)}: ${because}`,
          ...(instead === undefined ? {} : { remedy: `use ${instead}` }),
          ...fixOf("exec before the shell's only command", [addExec(container, context)]),
        };
    }
  },
};

/** Only where the script is one plain command that a signal reaches once the shell has given way to it. */
function addExec({ field, argv }: Container, { textOf }: Context): Edit | undefined {
  const script = argv && scriptOf(argv);
  if (script === undefined || script.includes("\n")) return undefined;
  const words = plainCommand(script);
  if (words === undefined || servedBy(words).pidOne !== undefined) return undefined;
  const word = [...field.at("command").items(), ...field.at("args").items()].find(
    (one) => one.text() === script,
  );
  if (!word?.isScalar) return undefined;
  const { file } = word.source;
  const [start] = word.span;
  const first = textOf(file).slice(start, start + 1);
  if (first === "|" || first === ">") return undefined;
  const at = /["']/.test(first) ? start + 1 : start;
  return { file, span: [at, at], text: "exec " };
}
