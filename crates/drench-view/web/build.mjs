// Bundles the page's program into dist/app.js. `npm ci && npm run build`; the result is committed, users never need npm.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = "dist/app.js";
await build({
  entryPoints: ["src/main.js"], outfile: out, bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", charset: "utf8",
});
// A test compares this with the sources, so that nobody forgets to build.
let hash = 0xcbf29ce484222325n;
const add = (bytes) => bytes.forEach((byte) => (hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n)));
for (const name of readdirSync("src").filter((name) => name.endsWith(".js")).sort()) add(Buffer.concat([Buffer.from(name), readFileSync(`src/${name}`)]));
const three = JSON.parse(readFileSync("node_modules/three/package.json")).version;
const head = `// Built from web/src by web/build.mjs: do not edit. Contains three.js ${three}, MIT licence: see LICENSE-three.txt.\n// sources ${hash.toString(16).padStart(16, "0")}\n`;
writeFileSync(out, head + readFileSync(out, "utf8"));
console.log(`${out}: ${(readFileSync(out).length / 1e3).toFixed(0)} kB`);
