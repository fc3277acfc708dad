import { createServer } from "node:net";

/** The cheapest server there is: answers every request head with the same few bytes, so that a bench measures the generator. */
const answers = {
  open: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nok\n",
  last: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n",
};
const server = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    if (bytes.includes("Connection: close")) socket.end(answers.last);
    else socket.write(answers.open);
  });
});
server.listen(0, "127.0.0.1", 4_096, () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address ? address.port : 0);
});
process.on("disconnect", () => process.exit());
