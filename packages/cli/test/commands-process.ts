/**
 * Runs the command lines that running.ts sends, one after another: starting a process for each takes a third of a second of a slow
 * core. Behind what each prints, its exit code stands between two NUL in both outputs.
 */
import { setMaxListeners } from "node:events";
import { promisify } from "node:util";
import { program } from "./program.ts";

/** A command line, and where it runs. */
export interface Asked {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

const { stdout, stderr } = process;
// Each command listens for the errors of both.
setMaxListeners(0, stdout, stderr);
const built = new URL("../dist/main.js", import.meta.url).href;
const { main } = (await import(built)) as { main: (argv: readonly string[]) => Promise<number> };

process.on("message", ({ args, cwd, env }: Asked) => void answer(args, cwd, env));
// Who asks has ended: what a command has left open keeps nobody.
process.on("disconnect", () => process.exit());

async function answer(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<void> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  // The lab starts itself again in its namespaces by this.
  process.argv = [process.execPath, program, ...args];
  const code = await main(process.argv);
  for (const output of [stdout, stderr])
    await promisify((text: string, done: (error?: Error | null) => void) => output.write(text, done))(
      `\0${code}\0`,
    );
}
