import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { CoordinatorClient } from "../src/coordinator-client.ts";
import type { Report } from "../src/report.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-stream-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "secret\n");
after(() => rmSync(directory, { recursive: true }));

const report: Report = {
  version: 1,
  kind: "kube-proxy",
  node: "node1",
  basis: "rules",
  epoch: null,
  applied: 0,
  known: 0,
  wait: 0,
};
const accepted = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: lameduck/1\r\n\r\n";
const answer = '{"version":1,"epoch":"e","head":3,"withdrawn":[["10.0.0.1",3]]}';
const posted = `HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;

/** What a coordinator does with what a connection has sent. Its number counts from 0. */
type Behaviour = (socket: Socket, text: string, connection: number) => void;

async function asking<T>(behave: Behaviour, run: (client: CoordinatorClient) => Promise<T>): Promise<T> {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const number = connections++;
    sockets.add(socket.setEncoding("utf8"));
    socket.on("data", (text: string) => behave(socket, text, number)).on("error", () => undefined);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new CoordinatorClient({ host: "127.0.0.1", port }, { name: "kube-proxy/node1", tokenFile });
  try {
    return await run(client);
  } finally {
    client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const ask = (client: CoordinatorClient): Promise<unknown> => client.post(report, AbortSignal.timeout(20_000));
const isUpgrade = (text: string): boolean => text.startsWith("GET ");

/** Takes the stream, and answers each report with these bytes. */
const streaming =
  (bytes: string): Behaviour =>
  (socket, text) =>
    socket.write(isUpgrade(text) ? accepted : text.startsWith("POST ") ? posted : bytes);

describe("the watcher's stream", () => {
  it("reads an answer in whatever pieces it comes", () =>
    asking(
      (socket, text) => {
        if (isUpgrade(text)) socket.write(accepted);
        else for (const letter of `200 ${answer}\n`) socket.write(letter);
      },
      async (client) => assert.equal((await client.post(report, AbortSignal.timeout(20_000))).head, 3),
    ));

  it("reads an answer that comes with the acceptance", () =>
    asking(
      (socket, text) => socket.write(isUpgrade(text) ? `${accepted}200 ${answer}\n` : ""),
      async (client) => {
        // It belongs to no report, and is not taken for the next one's.
        await assert.rejects(ask(client), /no answer/);
      },
    ));

  for (const [what, bytes, message] of [
    ["a refusal", '403 {"version":1,"error":"shop:default may not report"}\n', /answered 403: .*may not/],
    ["another version", '400 {"version":2}\n', /version 2/],
    ["nonsense with a status", "200 <html>\n", /no JSON/],
  ] as const)
    it(`says what is wrong with ${what}`, () =>
      asking(streaming(bytes), (client) => assert.rejects(ask(client), message)));

  for (const [what, behave] of [
    ["that has no status", streaming("hello\n")],
    ["without end", streaming("2".repeat(9 * 2 ** 20))],
    [
      "that never comes, for the stream ends each time",
      (socket, text) => {
        if (text.startsWith("POST ")) socket.write(posted);
        else socket.end(accepted);
      },
    ],
    [
      "that never comes, for the request is cut",
      (socket, text) => {
        if (text.startsWith("POST ")) socket.write(posted);
        else socket.resetAndDestroy();
      },
    ],
    [
      "of a coordinator that knows no streams",
      (socket, text) => {
        if (text.startsWith("POST ")) socket.write(posted);
        else socket.write("HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n");
      },
    ],
  ] as readonly (readonly [string, Behaviour])[])
    it(`posts the report instead of an answer ${what}`, () =>
      asking(behave, async (client) => {
        const { head } = await client.post(report, AbortSignal.timeout(20_000));
        assert.equal(head, 3);
      }));

  it("fails where no answer comes, and opens another for the next report", () =>
    asking(
      (socket, text, connection) => {
        if (isUpgrade(text)) socket.write(accepted);
        else if (connection > 0) socket.write(`200 ${answer}\n`);
      },
      async (client) => {
        await assert.rejects(ask(client), /no answer/);
        await ask(client);
      },
    ));

  it("tries anew soon where it finds no coordinator, however long the report may wait", () =>
    asking(
      (socket, text, connection) => {
        if (connection > 0) socket.write(isUpgrade(text) ? accepted : `200 ${answer}\n`);
      },
      async (client) => {
        const signal = AbortSignal.timeout(20_000);
        await assert.rejects(client.post({ ...report, wait: 30_000 }, signal), /no answer/);
        assert.equal(signal.aborted, false, "it fails before its own time is over");
        await ask(client);
      },
    ));

  it("shows a token that was renewed once the former one is refused", async () => {
    const shown: string[] = [];
    await asking(
      (socket, text) => {
        const [, token] = /authorization: Bearer (\S+)/.exec(text) ?? [];
        if (token !== undefined) shown.push(token);
        if (isUpgrade(text)) socket.write(accepted);
        else if (shown.at(-1) === "renewed") socket.write(`200 ${answer}\n`);
        else socket.end('401 {"version":1,"error":"a token is needed"}\n');
      },
      async (client) => {
        await assert.rejects(ask(client), /answered 401/);
        writeFileSync(tokenFile, "renewed\n");
        await ask(client);
      },
    );
    assert.deepEqual(shown, ["secret", "renewed"]);
  });
});
