/**
 * Runs command lines one after another in one process, as starting one for each takes a third of a second of a slow core:
 *
 *     node commands-process.ts '[["lab","--rps","-1"],["help"]]'
 *
 * Behind what each prints, its exit code stands between two NUL in both outputs.
 */
import { setMaxListeners } from "node:events";
import { promisify } from "node:util";
import { program } from "./running.ts";

const { stdout, stderr } = process;
// Each command listens for the errors of both.
setMaxListeners(0, stdout, stderr);
const built = new URL("../dist/main.js", import.meta.url).href;
const { main } = (await import(built)) as { main: (argv: readonly string[]) => Promise<number> };

const commands = JSON.parse(process.argv[2] ?? "[]") as string[][];

for (const args of commands) {
  // The lab starts itself again in its namespaces by this.
  process.argv = [process.execPath, program, ...args];
  const code = await main(process.argv);
  for (const output of [stdout, stderr])
    await promisify((text: string, done: (error?: Error | null) => void) => output.write(text, done))(
      `\0${code}\0`,
    );
}
