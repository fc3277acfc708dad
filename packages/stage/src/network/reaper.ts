import { spawn } from "node:child_process";
import { once } from "node:events";

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

export function startReaper() {
  const shell = spawn("sh", ["-c", script], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  const ended = once(shell, "exit").catch(() => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  return {
    watch: (group: number) => {
      shell.stdin.write(`+ ${group}\n`);
      return { done: () => void shell.stdin.write(`- ${group}\n`) };
    },
    close: async (): Promise<void> => {
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
