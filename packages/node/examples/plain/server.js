import { createServer } from "node:http";
import { lameduck } from "@lameduck/node";

const server = createServer((request, response) => {
  response.end("hello\n");
});
lameduck(server);
server.listen(Number(process.env.PORT ?? 8080));
