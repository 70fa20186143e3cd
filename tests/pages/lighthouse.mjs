// Runs Lighthouse on pages, one after another in one browser: `node lighthouse.mjs NODE_MODULES PORT < pages.json`.
// Reads [{"name", "url", "headers", "skip"}] and writes a line of JSON for each page. PORT is that of a browser's debugger.
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const [modules, port] = process.argv.slice(2);
const { default: lighthouse } = await import(pathToFileURL(resolve(modules, "lighthouse/core/index.js")));

// The audits that lost points, each with its value or the first element that it names.
function lost(category, audits) {
  return category.auditRefs
    .map(({ id, weight }) => ({ weight, audit: audits[id] }))
    .filter(({ weight, audit }) => weight > 0 && audit.score !== null && audit.score < 1)
    .map(({ audit }) => `${audit.id} ${audit.displayValue || audit.details?.items?.[0]?.node?.selector || ""}`.trim());
}

for (const { name, url, headers, skip } of JSON.parse(await text(process.stdin))) {
  const options = { port: Number(port), logLevel: "silent", extraHeaders: headers, skipAudits: skip };
  const { lhr } = await lighthouse(url, options);
  const categories = Object.values(lhr.categories).map((each) => [each.id, { score: each.score, lost: lost(each, lhr.audits) }]);
  const { runtimeError: error } = lhr;
  const told = error ? { error: `${error.code}: ${error.message}` } : { categories: Object.fromEntries(categories) };
  process.stdout.write(`${JSON.stringify({ name, seconds: lhr.timing.total / 1000, ...told })}\n`);
}
