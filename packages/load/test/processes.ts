import { readdirSync, readFileSync } from "node:fs";

/** Processes that descend from `pid`, by /proc; none where there is no /proc. */
export function childrenOf(pid: number): readonly { readonly pid: number; readonly command: string }[] {
  const all = processes();
  const found: { pid: number; command: string }[] = [];
  for (let parents = [pid]; parents.length > 0;) {
    const next = all.filter((process) => parents.includes(process.parent));
    found.push(...next.map(({ pid, command }) => ({ pid, command })));
    parents = next.map((process) => process.pid);
  }
  return found;
}

function processes(): readonly { readonly pid: number; readonly parent: number; readonly command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        // The command in parentheses may hold anything, blanks and parentheses too.
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return [{ pid: Number(name), parent, command }];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}
