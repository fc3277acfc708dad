/**
 * A name server that knows one name, or does what none should: run as a process. Prints each question.
 *
 *     node name-server.ts ADDRESS ANSWER[,ANSWER] MODE
 */
import { createSocket } from "node:dgram";

const [address = "", answers = "", mode = ""] = process.argv.slice(2);
const known = "coordinator.lameduck-system.svc.cluster.local";
const socket = createSocket("udp4");

socket.on("message", (question, from) => {
  const { name, type, length } = read(question);
  console.log(`${type === 1 ? "A" : type === 28 ? "AAAA" : type} ${name}`);
  for (const reply of replies(question.subarray(0, length), name === known && type === 1))
    socket.send(reply, from.port, from.address);
});
socket.bind(53, address, () => console.log("listening"));

function read(question: Buffer): { name: string; type: number; length: number } {
  const labels: string[] = [];
  let at = 12;
  for (let size = question[at] ?? 0; size > 0; size = question[at] ?? 0) {
    labels.push(question.toString("latin1", at + 1, at + 1 + size));
    at += 1 + size;
  }
  return { name: labels.join("."), type: question.readUInt16BE(at + 1), length: at + 5 };
}

function replies(question: Buffer, found: boolean): Buffer[] {
  const header = Buffer.from(question);
  header.writeUInt16BE(found ? 0x8180 : 0x8183, 2);
  const addresses = answers.split(",").map((each) => each.split(".").map(Number));
  header.writeUInt16BE(found ? 1 + addresses.length : 0, 6);
  // An alias, and the addresses of what it stands for.
  const alias = Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 5, 0, 2, 0xc0, 12]);
  const records = addresses.map((each) => Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...each]));
  const whole = Buffer.concat([header, ...(found ? [alias, ...records] : [])]);
  switch (mode) {
    case "garbage": {
      const foreign = Buffer.from(whole);
      foreign.writeUInt16BE(whole.readUInt16BE(0) ^ 1, 0);
      const cut = Buffer.concat([header, Buffer.concat(records).subarray(0, 9)]);
      cut.writeUInt16BE(0x8180, 2);
      cut.writeUInt16BE(9, 6);
      return [Buffer.alloc(0), Buffer.alloc(700, 0xc0), foreign, cut];
    }
    case "fails":
      header.writeUInt16BE(0x8182, 2);
      return [header];
    default:
      return mode === "answers" ? [whole] : [];
  }
}
