import { createServer, type Server, type Socket } from "node:net";
import type { TestContext } from "node:test";

/** Waits for a condition; looks often, gives up late. */
export async function until<T>(look: () => T | undefined | false, what: string, limit = 20_000): Promise<T> {
  const deadline = Date.now() + limit;
  for (;;) {
    const seen = look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`never saw ${what}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** A TCP server whose behaviour is one function; closes with the test. */
export async function serve(
  t: TestContext,
  behave: (socket: Socket) => void,
): Promise<{ readonly port: number; readonly server: Server; readonly sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    behave(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("no port");
  return { port: address.port, server, sockets };
}

/** Answers every request with 200 and "ok", at once or after a while. */
export function answerOk(socket: Socket, headers = "", afterMs = 0): void {
  socket.on("data", (bytes) => {
    const last = bytes.includes("Connection: close");
    const text = `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${headers}${last ? "Connection: close\r\n" : ""}\r\nok\n`;
    const answer = (): unknown => (last ? socket.end(text) : socket.write(text));
    if (afterMs > 0) setTimeout(answer, afterMs);
    else answer();
  });
}
