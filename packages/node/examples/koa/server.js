import Koa from "koa";
import { lameduck } from "@lameduck/node";

const app = new Koa();
app.use((context) => {
  context.body = "hello\n";
});
lameduck(app.listen(Number(process.env.PORT ?? 8080)));
