/** Closed-loop load: good for cost per request, which is all that is measured here, and for nothing else. */
import { connect, type Socket } from "node:net";

const [port, connections, milliseconds, mode] = process.argv.slice(2);
const keepAlive = mode !== "close";
const question = `GET / HTTP/1.1\r\nHost: bench\r\n${keepAlive ? "" : "Connection: close\r\n"}\r\n`;
let answered = 0;
let over = false;

function run(): void {
  const socket: Socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true });
  socket.write(question);
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
    if (!received.endsWith("hello\n")) return;
    received = "";
    answered++;
    if (keepAlive && !over) socket.write(question);
    else if (keepAlive) socket.destroy();
  });
  socket.on("close", () => {
    if (!keepAlive && !over) run();
  });
  socket.on("error", (error) => {
    throw error;
  });
}

for (let count = 0; count < Number(connections); count++) run();
setTimeout(() => {
  over = true;
  process.send?.({ answered });
}, Number(milliseconds));
process.on("message", () => {
  answered = 0;
});
