/** Programs that start the program: runners, watchers, managers, shells. */
const server = "fixtures/server.mjs";
const typed = "fixtures/typed.mts";

export default {
  tsx: { what: "`tsx server.ts`, with a handler", needs: ["tsx"], command: ["tsx", typed] },
  "tsx, no handler": {
    what: "`tsx server.ts`, without a handler",
    needs: ["tsx"],
    command: ["tsx", typed],
    env: { IDIOM_END: "none" },
  },
  "node --import tsx": { what: "tsx as a hook", needs: ["tsx"], command: ["node", "--import", "tsx", typed] },
  "tsx watch": {
    what: "`tsx watch server.ts`",
    needs: ["tsx"],
    command: ["tsx", "watch", "--clear-screen=false", typed],
    exitsAsIs: true,
  },
  "node --watch": {
    what: "`node --watch server.js`",
    command: ["node", "--watch", "--watch-preserve-output", server],
    ignores: /Completed|Restarting|Waiting|Failed/,
  },
  "ts-node-dev": {
    what: "`ts-node-dev --respawn server.ts`",
    needs: ["ts-node-dev", "typescript"],
    command: ["ts-node-dev", "--respawn", "--transpile-only", "fixtures/common/typed.ts"],
    ignores: /ts-node-dev|INFO/,
  },
  nodemon: {
    what: "`nodemon server.js`",
    needs: ["nodemon"],
    command: ["nodemon", "-q", "--watch", "fixtures", server],
    ignores: /nodemon/,
  },
  "nodemon, SIGTERM for its child": {
    what: "`nodemon --signal SIGTERM server.js`",
    needs: ["nodemon"],
    command: ["nodemon", "-q", "--signal", "SIGTERM", "--watch", "fixtures", server],
    ignores: /nodemon/,
  },
  "npm start": {
    what: "`npm start`",
    command: ["npm", "--prefix", "fixtures/npm", "start", "--silent"],
    ignores: /^npm /,
  },
  "npm start, the group": {
    what: "`npm start`, and the signal goes to the group",
    command: ["npm", "--prefix", "fixtures/npm", "start", "--silent"],
    ignores: /^npm /,
    toGroup: true,
    signal: "SIGINT",
  },
  "pnpm start": {
    what: "`pnpm start`",
    needs: ["pnpm"],
    command: ["sh", "-c", "cd fixtures/npm && exec pnpm --silent start"],
  },
  "yarn start": {
    what: "`yarn start`",
    needs: ["yarn"],
    command: ["yarn", "--cwd", "fixtures/npm", "--silent", "start"],
  },
  "node --run": {
    what: "`node --run start`",
    command: ["sh", "-c", "cd fixtures/npm && exec node --run start"],
  },
  npx: {
    what: "`npx`: npm runs the program of a package",
    needs: ["tsx"],
    command: ["npx", "--no", "tsx", typed],
    env: { npm_config_script_shell: "fixtures/shell.sh" },
    ignores: /^npm /,
  },
  concurrently: {
    what: "`concurrently` of one program",
    needs: ["concurrently"],
    command: ["concurrently", "--raw", `node ${server}`],
    exitsAsIs: true,
    ignores: /-->|^Terminated$/,
  },
  "foreground-child": {
    what: "`foregroundChild()`",
    needs: ["foreground-child"],
    command: ["node", "fixtures/foreground.mjs"],
  },
  "sh -c": {
    what: '`sh -c "node server.js; true"`, the group',
    command: ["sh", "-c", `node ${server}; true`],
    toGroup: true,
  },
  "sh -c, exec": { what: '`sh -c "exec node server.js"`', command: ["sh", "-c", `exec node ${server}`] },
  "sh with a trap": {
    what: "an entrypoint that traps the signal, passes it on and waits",
    command: [
      "sh",
      "-c",
      `trap 'kill -TERM $child' TERM; node ${server} & child=$!; wait $child; wait $child; echo "child $?"`,
    ],
  },
  "pm2-runtime": {
    what: "`pm2-runtime server.js`, with `PM2_KILL_TIMEOUT`",
    needs: ["pm2"],
    env: { PM2_KILL_TIMEOUT: "10000" },
    command: ["sh", "fixtures/pm2.sh", "pm2-runtime", server],
    ignores: /PM2|^\d{4}-|App \[|Spawning|┌|│|└|├/,
  },
  "pm2-runtime, cluster": {
    what: "`pm2-runtime -i 2 server.js`",
    needs: ["pm2"],
    env: { PM2_KILL_TIMEOUT: "10000" },
    command: ["sh", "fixtures/pm2.sh", "pm2-runtime", "-i", "2", server],
    // It ends before it has passed on all that its workers say.
    ignores: /cleaned up|PM2|^\d{4}-|App \[|Spawning|┌|│|└|├/,
  },
};
