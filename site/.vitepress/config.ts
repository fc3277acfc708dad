import { cpSync, readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { type UserConfig, defineConfig } from "vitepress";
import { anchorOf, attachments, linkOf, placeOf, root, sideBars } from "../pages.ts";

const { version, homepage, repository } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  homepage: string;
  repository: { url: string };
};

/** Where the code can be read, or undefined as long as the repository has no address that anybody could open. */
const source = /\.example\b/.test(repository.url)
  ? undefined
  : repository.url.replace(/^git\+/, "").replace(/\.git$/, "");

type Markdown = Parameters<NonNullable<NonNullable<UserConfig["markdown"]>["config"]>>[0];

/** Links are written for the repository. Those to files that the site has not lead to the code, or are text. */
function links(markdown: Markdown): void {
  markdown.core.ruler.push("links of the repository", ({ env, tokens }) => {
    const { realPath, path } = env as { realPath?: string; path: string };
    const file = relative(root, realPath ?? path);
    for (const { children } of tokens)
      for (const [index, token] of (children ?? []).entries()) {
        if (token.type !== "link_open") continue;
        const href = String(token.attrGet("href"));
        const link = linkOf(file, href);
        // Addresses of examples become links by themselves, and lead nowhere.
        const isExample = /^https?:\/\/[^/]+\.example\b/.test(href);
        if (link === undefined && !isExample) continue;
        const address = link && (link.address ?? (source && `${source}/blob/main/${link.file}`));
        if (address) token.attrSet("href", address);
        else {
          token.attrs = null;
          const close = children!.slice(index).find((one) => one.type === "link_close");
          token.tag = close!.tag = "span";
        }
      }
  });
}

export default defineConfig({
  title: "Lameduck",
  description: "Stops Kubernetes pods without losing a request, and proves it.",
  lang: "en",
  base: new URL(homepage).pathname,
  srcDir: "..",
  srcExclude: readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "docs")
    .map((entry) => `${entry.name}/**`),
  cacheDir: "node_modules/.vitepress",
  rewrites: placeOf,
  // There is no picture for tabs; without this a browser asks for one, and is told 404.
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: {
    // The usual themes are too pale to be read on the ground of a block of code.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: anchorOf },
    config(markdown) {
      links(markdown);
      // Indented code is shown as fenced code is: it scrolls by itself, and can be copied.
      markdown.renderer.rules.code_block = (...rest) => markdown.renderer.rules.fence!(...rest);
    },
  },
  themeConfig: {
    sidebar: sideBars(),
    outline: [2, 3],
    nav: [
      { text: "Start", link: "/start/node" },
      { text: "Results", link: "/evidence/results" },
      { text: "Options", link: "/reference/options" },
      { text: version, link: "/changelog" },
    ],
    ...(source && { socialLinks: [{ icon: "github", link: source }] }),
    search: {
      provider: "local",
      options: {
        // Who looks for an option does not look for how the code is made.
        _render: (text, env, markdown) =>
          /^(?:contributing\/|changelog)/.test(placeOf(env.relativePath)) ? "" : markdown.render(text, env),
      },
    },
  },
  vite: {
    // The index of the search is one file.
    build: { chunkSizeWarningLimit: 5_000 },
    plugins: [
      {
        // What a page imports is found from here: its own folder has no node_modules with Vue above it.
        name: "vue-for-pages",
        enforce: "pre",
        resolveId(id, importer, options) {
          if (!/^vue(?:\/|$)/.test(id) || !importer?.includes(".md")) return undefined;
          return this.resolve(id, import.meta.filename, { ...options, skipSelf: true });
        },
      },
    ],
  },
  buildEnd({ outDir }) {
    for (const file of attachments) cpSync(join(root, file), join(outDir, placeOf(file)));
  },
});
