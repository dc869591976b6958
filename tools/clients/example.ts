// Runs the example of the README with the client that openapi-typescript generates: submit, wait, read the results.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

const farm = createClient<paths>({
  baseUrl: process.env["QB_URL"] ?? "http://127.0.0.1:50001",
  headers: { Authorization: `Bearer ${process.env["QB_TOKEN"] ?? ""}` },
});

const submitted = await farm.POST("/v1/jobs", {
  body: { name: "hello", cpus: 2, range: "1-10", command: ["sh", "-c", "echo frame QB_FRAME_NUMBER; sleep 1"] },
});
if (submitted.error) throw new Error(submitted.error.detail);
const job = submitted.data.job;

let status: string;
do {
  await new Promise((done) => setTimeout(done, 500));
  const { data, error } = await farm.GET("/v1/jobs/{job}", { params: { path: { job } } });
  if (error) throw new Error(error.detail);
  status = data.status;
} while (!["complete", "failed", "killed"].includes(status));

const items = await farm.GET("/v1/jobs/{job}/items", { params: { path: { job } } });
if (items.error) throw new Error(items.error.detail);
for (const item of items.data) {
  const log = await farm.GET("/v1/jobs/{job}/items/{item}/log", { params: { path: { job, item: item.name } }, parseAs: "text" });
  if (item.exit_code !== 0 || log.data !== `frame ${item.name}\n`) throw new Error(`item ${item.name}: exit ${item.exit_code}, output ${log.data}`);
}
if (status !== "complete" || items.data.length !== 10) throw new Error(`job ${job} is ${status} with ${items.data.length} items`);
console.log(`TypeScript: job ${job} is ${status}, ${items.data.length} items with their output`);
