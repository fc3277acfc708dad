/** At a terminal: the program is in its foreground, keys reach it, and nothing is held. */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { isInstalled } from "../toolchain/compilers.ts";
import { initProgram, withoutCompiler } from "./compiled.ts";
import { commandOf, descendantsOf, endAll, Running } from "./running.ts";

afterEach(endAll);
const skip = withoutCompiler || (isInstalled("script") ? false : "needs script (util-linux, bsdutils)");
const serverFile = fileURLToPath(new URL("server.ts", import.meta.url));

/** Under a terminal of its own; what is written to stdin is typed there. */
function atTerminal(environment: Record<string, string>, ...command: string[]): Running {
  const quoted = command.map((word) => `'${word}'`).join(" ");
  return new Running("script", ["-qec", quoted, "/dev/null"], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
}

function text(running: Running): string {
  return running.lines.join("\n");
}

describe("terminal", { skip }, () => {
  test("a shell at a terminal has job control, and its exit code is passed on", async () => {
    const shell = atTerminal({}, initProgram(), "--", "sh", "-c", "read line; echo got $line; exit 3");
    shell.process.stdin?.write("hello\n");
    const { code } = await shell.ended;
    assert.match(text(shell), /got hello/);
    assert.equal(code, 3);
  });

  test("Ctrl-C at a terminal ends the program with exit code 130", async () => {
    const program = atTerminal({}, initProgram(), "--", "sh", "-c", "echo up; exec sleep 60");
    await program.until(() => text(program).includes("up"));
    program.process.stdin?.write("\x03");
    assert.equal((await program.ended).code, 130);
  });

  async function terminated(environment: Record<string, string>): Promise<string> {
    const command = [initProgram(), "--policy", "fixed", "--delay", "700ms", "--"];
    const server = atTerminal(environment, ...command, process.execPath, serverFile, "0");
    await server.until(() => text(server).includes("listening"));
    const init = descendantsOf(server.pid).find((pid) => commandOf(pid) === initProgram());
    assert.ok(init !== undefined);
    process.kill(init, "SIGTERM");
    assert.equal((await server.ended).code, 0);
    return text(server);
  }

  test("a SIGTERM at a terminal is not held, and the log says so", async () => {
    const said = await terminated({});
    assert.doesNotMatch(said, /held for/);
    assert.match(said, /nothing is held at a terminal outside Kubernetes/);
  });

  test("a SIGTERM in a pod with tty: true is held", async () => {
    assert.match(await terminated({ KUBERNETES_SERVICE_HOST: "10.96.0.1" }), /held for/);
  });
});
