/** For tests: does this machine have what they run? */
import { isInstalled } from "../packages/init/toolchain/compilers.ts";

/** The `skip` option of a test that runs these programs: one line that names what is missing, or false. */
export function without(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => !isInstalled(program));
  return missing.length > 0 && `needs ${missing.join(", ")}`;
}

/** The same for a test that also needs root. */
export function withoutRootOr(...programs: readonly string[]): string | false {
  return process.getuid?.() === 0 ? without(...programs) : "needs root";
}
