import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import test from "node:test";

const module = fileURLToPath(new URL("../src/protocols/socket.ts", import.meta.url));

/** In the turn of `end()` the shutdown is asked for, and not done yet. */
const program = `
  import { connect, createServer } from "node:net";
  import { cut } from ${JSON.stringify(module)};
  const server = createServer((other) => other.on("error", () => undefined)).listen(0, "127.0.0.1", () => {
    const socket = connect(server.address().port, "127.0.0.1", () => {
      SHUTDOWN
      cut(socket);
    });
    socket.on("error", () => undefined).on("close", () => server.close());
  });
`;

for (const [name, shutdown] of [
  ["open", ""],
  ["being shut down", "socket.end();"],
] as const)
  test(`a process exits once it has cut a connection that is ${name}`, async () => {
    const code = program.replace("SHUTDOWN", shutdown);
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "ignore", "inherit"],
      timeout: 10_000,
      killSignal: "SIGKILL",
    });
    assert.deepEqual(await once(child, "exit"), [0, null]);
  });
