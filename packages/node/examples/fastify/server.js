import fastify from "fastify";
import { lameduckPlugin } from "@lameduck/node/fastify";

const app = fastify();
await app.register(lameduckPlugin);
app.get("/", async () => "hello\n");
await app.listen({ port: Number(process.env.PORT ?? 8080), host: "0.0.0.0" });
