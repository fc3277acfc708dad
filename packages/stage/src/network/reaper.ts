import { spawn, type ChildProcess } from "node:child_process";

/**
 * Where pods share the machine's processes, they would outlive a stage that is killed. This shell outlives the stage by an instant: it
 * reads every process group, and kills the remaining ones when its input ends.
 */
const script = `
trap '' INT TERM HUP QUIT
groups=""
while read -r what group; do
  if [ "$what" = + ]; then groups="$groups $group"; continue; fi
  left=""
  for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
  groups=$left
done
for one in $groups; do kill -9 "-$one" 2>/dev/null; done
`;

export class Reaper {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<void>;

  constructor() {
    this.#shell = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
    this.#shell.stdin?.on("error", () => undefined);
    this.#ended = new Promise((resolve) => {
      this.#shell.on("exit", () => resolve());
      this.#shell.on("error", () => resolve());
    });
    this.#shell.unref();
  }

  watch(group: number): { done(): void } {
    this.#shell.stdin?.write(`+ ${group}\n`);
    return { done: () => void this.#shell.stdin?.write(`- ${group}\n`) };
  }

  async close(): Promise<void> {
    this.#shell.ref();
    this.#shell.stdin?.end();
    await this.#ended;
  }
}
