import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { ConsumerReport } from "@lameduck/protocol";
import { vectorsOf } from "../../protocol/test/vectors.ts";
import { CoordinatorClient } from "../src/coordinator-client.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-stream-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "secret\n");
after(() => rmSync(directory, { recursive: true }));

const report: ConsumerReport = {
  kind: "kube-proxy",
  node: "node1",
  basis: "rules",
  epoch: null,
  applied: 0,
  also: [],
  known: 0,
  waitMs: 0,
  serves: [],
  problem: undefined,
  reason: undefined,
};
const accepted = "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: lameduck/1\r\n\r\n";
const answer = '{"version":1,"epoch":"e","head":3,"withdrawn":[["10.0.0.1",3]]}';
const answeredOtherwise = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

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

const ask = (client: CoordinatorClient): Promise<unknown> =>
  client.report(report, AbortSignal.timeout(20_000));
const isUpgrade = (text: string): boolean => text.startsWith("GET ");

/** Takes the stream, and answers each report with these bytes. */
const streaming =
  (bytes: string): Behaviour =>
  (socket, text) =>
    socket.write(isUpgrade(text) ? accepted : bytes);

describe("the watcher's stream", () => {
  it("the watcher's stream reads an answer in whatever pieces it comes", () =>
    asking(
      (socket, text) => {
        if (isUpgrade(text)) socket.write(accepted);
        else for (const letter of `200 ${answer}\n`) socket.write(letter);
      },
      async (client) => assert.equal((await client.report(report, AbortSignal.timeout(20_000))).head, 3),
    ));

  it("the watcher's stream takes an answer that comes with the acceptance for no report's answer", () =>
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
    it(`the watcher's stream says what is wrong with ${what}`, () =>
      asking(streaming(bytes), (client) => assert.rejects(ask(client), message)));

  it("the watcher's stream takes answers, and refuses others, as the vectors of the protocol say", async () => {
    let text = "";
    await asking(
      (socket, received) => socket.write(isUpgrade(received) ? accepted : `200 ${text}\n`),
      async (client) => {
        for (const vector of vectorsOf("coordinator-answers")) {
          ({ text } = vector);
          const { refused = "", name } = vector;
          if (vector.answer) assert.deepEqual(await ask(client), vector.answer, name);
          else await assert.rejects(ask(client), (error) => String(error).includes(refused), name);
        }
      },
    );
  });

  it("the watcher's stream writes reports as the vectors of the protocol say", async () => {
    let received = "";
    await asking(
      (socket, text) => {
        if (!isUpgrade(text)) received = text;
        socket.write(isUpgrade(text) ? accepted : `200 ${answer}\n`);
      },
      async (client) => {
        for (const { name, text, report: said, written } of vectorsOf("consumer-reports")) {
          if (!said || !written) continue;
          await client.report(said, AbortSignal.timeout(20_000));
          assert.equal(received, `${text}\n`, name);
        }
      },
    );
  });

  for (const [what, behave] of [
    ["that has no status", streaming("hello\n")],
    ["without end", streaming("2".repeat(9 * 2 ** 20))],
    ["that never comes, for the stream ends each time", (socket) => void socket.end(accepted)],
    ["that never comes, for the request is cut", (socket) => void socket.resetAndDestroy()],
  ] as readonly (readonly [string, Behaviour])[])
    it(`the watcher's stream fails with an answer ${what}`, () =>
      asking(behave, (client) => assert.rejects(ask(client), /no answer/)));

  for (const [what, status, body, message] of [
    ["knows no streams", "405 Method Not Allowed", "", /answered 405/],
    ["speaks another version", "404 Not Found", "lameduck 2\n", /version 2/],
    ["speaks another version, as JSON", "400 Bad Request", '{"version":3}', /version 3/],
  ] as const)
    it(`the watcher's stream takes nothing from a coordinator that ${what}, and says so`, () =>
      asking(
        (socket) => socket.write(answeredOtherwise(status, body)),
        async (client) => {
          for (let again = 0; again < 2; again++) await assert.rejects(ask(client), message);
        },
      ));

  it("the watcher's stream fails where no answer comes, and the next report opens another stream", () =>
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

  it("the watcher's stream tries anew soon where it finds no coordinator, however long the report may wait", () =>
    asking(
      (socket, text, connection) => {
        if (connection > 0) socket.write(isUpgrade(text) ? accepted : `200 ${answer}\n`);
      },
      async (client) => {
        const signal = AbortSignal.timeout(20_000);
        await assert.rejects(client.report({ ...report, waitMs: 30_000 }, signal), /no answer/);
        assert.equal(signal.aborted, false, "it fails before its own time is over");
        await ask(client);
      },
    ));

  it("the watcher's stream shows a renewed token once the former token is refused", async () => {
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
