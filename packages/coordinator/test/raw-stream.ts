import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { until } from "../../cluster/test/operator-api.ts";
import type { CoordinatorAnswer } from "@lameduck/protocol";

const first = { version: 1, kind: "kube-proxy", node: "node1", basis: "rules", epoch: null };
/** A line of node1. */
export const report = (fields: object = {}): string =>
  `${JSON.stringify({ ...first, applied: 0, known: 0, wait: 0, ...fields })}\n`;

/** The kube-proxy of node1 as it reports on a stream, in bytes. */
export class Raw {
  readonly socket: Socket;
  received = "";
  isEnded = false;

  constructor(port: number, token = "token-node1", more = "") {
    this.socket = connect(port, "127.0.0.1").setEncoding("latin1");
    this.socket.on("data", (text: string) => (this.received += text));
    this.socket.on("end", () => (this.isEnded = true)).on("error", () => (this.isEnded = true));
    this.socket.write(
      `GET /v1/consumers/kube-proxy%2Fnode1 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n` +
        `connection: Upgrade\r\nupgrade: lameduck/1\r\n\r\n${more}`,
    );
  }

  get answers(): readonly string[] {
    const [head = "", body = ""] = this.received.split("\r\n\r\n", 2);
    return head === "" ? [] : body.split("\n").slice(0, -1);
  }

  last(): CoordinatorAnswer {
    const line = this.answers.at(-1) ?? "";
    assert.match(line, /^200 /);
    return JSON.parse(line.slice(4)) as CoordinatorAnswer;
  }

  async nextAnswer(): Promise<string> {
    const { length } = this.answers;
    await until(() => this.answers.length > length, "an answer");
    return this.answers.at(-1) ?? "";
  }

  /** Sends, and reads the next answer. */
  async ask(fields: object = {}): Promise<string> {
    const next = this.nextAnswer();
    this.socket.write(report(fields));
    return next;
  }
}
