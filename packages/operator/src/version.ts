/** What is injected names it. A constant, because the process is one file; a test holds it to package.json. */
export const lameduckVersion = "0.1.0";
