import express from "express";
import { lameduck } from "@lameduck/node";

const app = express();
app.get("/", (request, response) => {
  response.send("hello\n");
});
lameduck(app.listen(Number(process.env.PORT ?? 8080)));
