import { withoutUndefined } from "@lameduck/drain/common";
import { runInContainer, type CommandEnd, type KubernetesClient } from "@lameduck/kube";
import { initVolumePath, initFile } from "@lameduck/protocol";
import type { PodName, RunningContainer } from "./pod.ts";

/** One hold, as `lameduck-init end` tells of it. */
export interface ToldHold {
  readonly event: "ended" | "not-ended" | "nothing-held";
  readonly program?: string;
  readonly pid?: number;
  readonly hold_ms?: number;
}

export interface Told {
  readonly by: "binary" | "shell";
  readonly holds: readonly ToldHold[];
  /** The connection broke, or the command was killed: its container may have ended. */
  readonly isCutOff: boolean;
}

/** Milliseconds: the command itself waits 5 s for a reaction. */
const longestMs = 12_000;

/**
 * What docs/reference/init.md says of a container without the binary, and then the wait for what it brings about. The file is named by the process that
 * holds; its second word is the program, the seventh when the hold began, the eighth when it ended.
 */
const script = `
held() {
  set -- $(cat "$1" 2>/dev/null)
  [ "\${7:-0}" != 0 ] && [ "$8" = 0 ] && [ -d "/proc/$pid" ] && program=$2 && began=$7
}
none=yes
files=$(ls -d /dev/shm/lameduck-holder-$(stat -Lc %i /proc/self/ns/mnt)-* 2>/dev/null)
for file in $files; do
  pid=\${file##*-}
  held "$file" || continue
  none=
  end=/dev/shm/lameduck-end-\${file##*-holder-}
  rm -f "$end"
  echo "$began" >"$end"
  event=not-ended
  for second in 1 2 3 4 5; do
    sleep 1
    held "$file" || { event=ended; break; }
  done
  echo "{\\"event\\":\\"$event\\",\\"program\\":\\"$program\\",\\"pid\\":$pid}" >&2
done
[ -z "$none" ] || echo '{"event":"nothing-held"}' >&2
`;

/** Ends the holds of one container by what is in it. @returns why that cannot be done, where it cannot. */
export async function endInContainer(
  client: KubernetesClient,
  { namespace, name: pod }: PodName,
  { name: container, binaries }: RunningContainer,
  signal: AbortSignal,
): Promise<Told | string> {
  const paths = new Set([...binaries, `${initVolumePath}/${initFile}`, initFile, `/${initFile}`]);
  const ways = [
    ...Array.from(paths, (path) => ({ by: "binary", command: [path, "end", "--log", "json"] }) as const),
    { by: "shell", command: ["sh", "-c", script] } as const,
  ];
  for (const { by, command } of ways) {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    const end = await runInContainer(client, { namespace, pod, container, command }, limited);
    const holds = holdsIn(end.stderr);
    const isCutOff = isKilled(end);
    if (holds.length > 0 || isCutOff) return { by, holds, isCutOff };
  }
  return "neither lameduck-init nor a shell is in it";
}

/** The kernel kills every process of a container whose first one ends; the connection may end with it. */
function isKilled({ exitCode, problem }: CommandEnd): boolean {
  return exitCode === 137 || (exitCode === undefined && problem === undefined);
}

function holdsIn(text: string): readonly ToldHold[] {
  return text.split("\n").flatMap((line): ToldHold[] => {
    try {
      // Without what a log line has besides.
      const { event, program, pid, hold_ms } = (JSON.parse(line) ?? {}) as Partial<ToldHold>;
      return event === "ended" || event === "not-ended" || event === "nothing-held"
        ? [withoutUndefined({ event, program, pid, hold_ms })]
        : [];
    } catch {
      return [];
    }
  });
}
