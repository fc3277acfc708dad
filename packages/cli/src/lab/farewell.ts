/** The way from the sample to one's own server, as it works from where the user stands. */
export function tryOnYours(env: NodeJS.ProcessEnv = process.env): string {
  const command = env["npm_execpath"] ? "npx lameduck" : "lameduck";
  return `\nOn your own server:  ${command} lab -- node server.js\nMore:                ${command} lab --help\n`;
}
