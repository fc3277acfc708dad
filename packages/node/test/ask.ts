import { get, type Agent, type IncomingMessage, type RequestOptions } from "node:http";
import { get as getTls } from "node:https";
import { connect, type Socket } from "node:net";

export interface Answer {
  status: number;
  body: string;
  connection: string | undefined;
}

/** One GET to loopback, on a connection of its own unless an agent is given. Never retries. */
export function ask(
  port: number,
  path = "/",
  agent?: Agent,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return receive(get, { host: "127.0.0.1", port, path, headers, agent: agent ?? false });
}

export function askTls(port: number, path: string): Promise<Answer> {
  return receive(getTls, { host: "127.0.0.1", port, path, agent: false, rejectUnauthorized: false });
}

export function askUnix(socketPath: string, path: string): Promise<Answer> {
  return receive(get, { socketPath, path, agent: false });
}

/** A connection that has been used once and is kept open. */
export async function idleConnection(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await new Promise((resolve) => socket.once("data", resolve));
  socket.resume();
  return socket;
}

function receive(
  getter: typeof get,
  options: RequestOptions & { rejectUnauthorized?: boolean },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    getter(options, (response: IncomingMessage) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body, connection: response.headers.connection }),
      );
    }).on("error", reject);
  });
}
