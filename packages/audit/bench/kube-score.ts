import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const version = "1.20.0";

/** Path of kube-score: the one that is given, else built once from its Go module. @throws {Error} where there is no Go. */
export function kubeScoreAt(given: string | undefined): string {
  if (given !== undefined) return given;
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const folder = join(cache, "lameduck", `kube-score-${version}`);
  const program = join(folder, "kube-score");
  if (existsSync(program)) return program;
  process.stderr.write(`building kube-score ${version}\n`);
  execFileSync("go", ["install", `github.com/zegl/kube-score/cmd/kube-score@v${version}`], {
    env: { ...process.env, GOBIN: folder },
    stdio: "inherit",
  });
  return program;
}
