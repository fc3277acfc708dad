import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { random as randomFrom } from "../../drain/test/random.ts";
import { until } from "../../cluster/test/operator-api.ts";
import { coordinating, type Coordinating, type Scene } from "../../coordinator/test/fixture.ts";
import { idleWatcher } from "./idle-watcher.ts";
import { Raw, report } from "../../coordinator/test/raw-stream.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-stream-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token-node1\n");
after(() => rmSync(directory, { recursive: true }));

const onePod = (scene: Scene): void => {
  scene.node("node1");
  scene.pod("web-1");
};

const withdraw = ({ scene }: Coordinating): void => {
  scene.terminate("web-1");
  scene.withdraw("web-1");
};

describe("a report stream", () => {
  it("a report stream answers each report with a line, and a report that waits when there is news", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port);
    assert.match(await consumer.ask(), /^200 /);
    assert.match(consumer.received, /^HTTP\/1\.1 101 /);
    const { epoch, head } = consumer.last();
    const news = consumer.nextAnswer();
    consumer.socket.write(report({ epoch, applied: head, known: head, wait: 30_000 }));
    await until(() => all.coordinator.parked === 1, "parked");
    withdraw(all);
    await news;
    assert.deepEqual(consumer.last().withdrawn, [["127.0.0.1", 1]]);
    await consumer.ask({ epoch, applied: 1, known: 1 });
    await until(() => all.coordinator.status().released === 1, "released");
    consumer.socket.destroy();
  });

  it("a report stream answers a report for the reports before it, which wait no more", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port);
    await consumer.ask();
    const { epoch } = consumer.last();
    for (let times = 0; times < 3; times++) consumer.socket.write(report({ epoch, wait: 30_000 }));
    await consumer.ask({ epoch });
    assert.equal(consumer.answers.length, 2);
    assert.equal(all.coordinator.parked, 0);
    consumer.socket.destroy();
  });

  it("a report stream reads lines in whatever pieces they come, and with the request itself", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port, "token-node1", report() + report().slice(0, 30));
    await until(() => consumer.answers.length === 1, "the first");
    for (const piece of [report().slice(30, 31), report().slice(31), report() + report()])
      await new Promise<void>((resolve) => void consumer.socket.write(piece, () => setImmediate(resolve)));
    await until(() => consumer.answers.length === 4, "the others");
    for (const answer of consumer.answers) assert.match(answer, /^200 /);
    consumer.socket.destroy();
  });

  it("a report stream reads 500 lines that are cut anywhere, each once and in order", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port);
    const random = randomFrom(7);
    const lines = Array.from({ length: 500 }, (_, at) =>
      at % 5 === 0 ? `no report ${at}\n` : report({ problem: "ü".repeat(at % 50) }),
    );
    const bytes = Buffer.from(lines.join(""));
    for (let from = 0, to = 0; from < bytes.length; from = to) {
      to = from + 1 + Math.floor(random() ** 4 * 2_000);
      await new Promise<void>(
        (resolve) => void consumer.socket.write(bytes.subarray(from, to), () => resolve()),
      );
    }
    await until(() => consumer.answers.length === lines.length, "all answers");
    const expected = lines.map((_, at) => (at % 5 === 0 ? "400" : "200"));
    assert.deepEqual(
      consumer.answers.map((answer) => answer.slice(0, 3)),
      expected,
    );
    consumer.socket.destroy();
  });

  it("a report stream goes on after a wrong report, and says what is wrong", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port);
    assert.match(await consumer.ask({ basis: "guess" }), /^400 .*basis/);
    assert.match(await consumer.ask({ node: "node2" }), /^4\d\d /);
    assert.match(await consumer.ask(), /^200 /);
    consumer.socket.destroy();
  });

  it("a report stream ends with 401, 403 or 413 where its consumer may not report, or reports without end", async () => {
    await using all = await coordinating(onePod);
    all.api.tokens.set("other", { account: "shop:default" });
    const stranger = new Raw(all.port, "made-up", report());
    const other = new Raw(all.port, "other", report());
    const endless = new Raw(all.port, "token-node1", "x".repeat(40_000));
    const long = new Raw(all.port, "token-node1", `${"x".repeat(40_000)}\n`);
    for (const [one, status] of [
      [stranger, 401],
      [other, 403],
      [endless, 413],
      [long, 413],
    ] as const) {
      await until(() => one.isEnded, `the end with ${status}`);
      assert.match(one.answers.join("\n"), new RegExp(`^${status} .*error.*$`));
      one.socket.destroy();
    }
  });

  it("a report stream ends when its token has expired, and takes no report any more", async () => {
    await using all = await coordinating(onePod);
    const exp = Math.ceil(Date.now() / 1_000) + 1;
    const token = `header.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.signature`;
    const owner = all.api.tokens.get("token-node1");
    assert.ok(owner);
    all.api.tokens.set(token, owner);
    const consumer = new Raw(all.port, token);
    const asking = setInterval(() => consumer.socket.write(report()), 20);
    await until(() => consumer.isEnded, "the end");
    clearInterval(asking);
    assert.ok(Date.now() >= exp * 1_000, "not before");
    consumer.socket.destroy();
  });

  it("a report stream is over soon after its last answer, whatever its consumer has sent meanwhile", async () => {
    await using all = await coordinating(onePod);
    const refused = new Raw(all.port, "made-up");
    // As the watcher does: it learns of the refusal by the answer to its report.
    refused.socket.once("data", () => refused.socket.write(report()));
    await until(() => refused.isEnded, "the refusal");
    const endless = new Raw(all.port, "token-node1", "x".repeat(40_000));
    await until(() => endless.isEnded, "the refusal of what is too long");
    const more = setInterval(() => endless.socket.write("x".repeat(1_000)), 5).unref();
    let open = 2;
    const count = (): unknown => all.coordinator.server.getConnections((_error, left) => (open = left));
    await until(() => (count(), open === 0), "no connection left");
    clearInterval(more);
    endless.socket.destroy();
  });

  it("a report stream is dropped where its consumer asks on and on and reads nothing", async () => {
    await using all = await coordinating(onePod);
    const consumer = new Raw(all.port);
    await consumer.ask();
    consumer.socket.pause();
    const closed = new Promise((resolve) => consumer.socket.on("close", resolve));
    const flood = setInterval(() => {
      if (consumer.socket.writableLength < 2 ** 20) consumer.socket.write(report().repeat(1_000));
    });
    await closed;
    clearInterval(flood);
  });

  it("a report stream must be asked for, and a consumer that posts a report instead is told so", async () => {
    await using all = await coordinating(onePod);
    const asked = { path: "/v1/consumers/kube-proxy%2Fnode1", token: "token-node1" };
    for (const method of ["POST", "GET"]) {
      const { status, text } = await all.ask({
        ...asked,
        method,
        ...(method === "POST" && { body: report() }),
      });
      assert.equal(status, 426);
      assert.match(text, /^lameduck 1\n.*Upgrade: lameduck\/1/);
    }
    assert.deepEqual(all.coordinator.status().consumers, []);
  });

  it("a request that would upgrade to anything else than a report stream is left alone", async () => {
    await using all = await coordinating(onePod);
    const socket = connect(all.port, "127.0.0.1").setEncoding("latin1");
    let received = "";
    socket.on("data", (text: string) => (received += text));
    const uid = all.api.get("pods", "web-1")?.metadata.uid ?? "";
    socket.write(
      `GET /v1/pods/shop/web-1?uid=${uid} HTTP/1.1\r\nhost: a\r\n` +
        "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\n\r\n",
    );
    await until(() => received.includes("state: "), "an answer");
    assert.match(received, /^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it("a report stream does not keep the coordinator from ending", async () => {
    const all = await coordinating(onePod);
    const [waiting, silent] = [new Raw(all.port), new Raw(all.port)];
    await waiting.ask();
    await silent.ask();
    waiting.socket.write(report({ epoch: waiting.last().epoch, wait: 30_000 }));
    await until(() => all.coordinator.parked === 1, "parked");
    await all[Symbol.asyncDispose]();
    await until(() => waiting.isEnded && silent.isEnded, "both ended");
    assert.equal(waiting.answers.length, 2, "who waits is answered first");
    assert.equal(all.coordinator.server.listening, false);
  });

  it("a report stream whose consumer reads nothing does not keep the coordinator from ending", async () => {
    const all = await coordinating(onePod);
    const sockets: Socket[] = [];
    all.coordinator.server.on("connection", (socket: Socket) => sockets.push(socket));
    const deaf = new Raw(all.port);
    await deaf.ask();
    deaf.socket.pause();
    const isStuck = (): boolean => sockets.some(({ writableLength }) => writableLength > 0);
    await until(() => isStuck() || (deaf.socket.write(report().repeat(1_000)), false), "unread answers");
    await all[Symbol.asyncDispose]();
    await until(() => sockets.every(({ destroyed }) => destroyed), "the end");
    deaf.socket.destroy();
  });
});

describe("a watcher and a coordinator that know streams", () => {
  it("a watcher and a coordinator that know streams use one connection, also while a report waits and another is made", async () => {
    await using all = await coordinating(onePod);
    await using _watcher = idleWatcher(all.port, tokenFile);
    await until(() => all.coordinator.parked === 1, "parked");
    withdraw(all);
    await until(() => all.coordinator.status().released === 1, "released");
    await until(() => all.coordinator.parked === 1, "parked again");
    const connections = await new Promise((resolve) =>
      all.coordinator.server.getConnections((_error, count) => resolve(count)),
    );
    assert.equal(connections, 1);
  });

  it("a watcher and a coordinator that know streams go on where the connection is cut, without a failure", async () => {
    await using all = await coordinating(onePod);
    const sockets: Socket[] = [];
    all.coordinator.server.on("connection", (socket: Socket) => sockets.push(socket));
    await using watcher = idleWatcher(all.port, tokenFile);
    await until(() => all.coordinator.parked === 1, "parked");
    sockets[0]?.destroy();
    await until(() => sockets.length === 2 && all.coordinator.parked === 1, "parked on another");
    withdraw(all);
    await until(() => all.coordinator.status().released === 1, "released");
    assert.deepEqual(watcher.failures, []);
  });
});
