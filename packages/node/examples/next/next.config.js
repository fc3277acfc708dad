export default { output: "standalone", distDir: "dist", outputFileTracingRoot: import.meta.dirname };
