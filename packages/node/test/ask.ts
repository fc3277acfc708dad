import { get, type Agent, type IncomingMessage } from "node:http";

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
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path, headers, agent: agent ?? false };
    get(options, (response: IncomingMessage) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body, connection: response.headers.connection }),
      );
    }).on("error", reject);
  });
}
