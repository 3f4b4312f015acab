// Bundles the page into dist/.
import { build } from 'esbuild';

// Grafana's .mjs files import CommonJS packages that set __esModule. esbuild gives them the whole module where they
// expect its default; a shim between the two restores what webpack makes of it.
const CJS =
  /^(react-custom-scrollbars-2|react-highlight-words|react-calendar|calculate-size|react-use\/lib\/.+|rc-picker\/lib\/.+)$/;
const interop = {
  name: 'grafana-interop',
  setup(b) {
    b.onResolve({ filter: CJS }, (a) =>
      a.importer.endsWith('.mjs') ? { path: a.path, namespace: 'cjs', pluginData: a.resolveDir } : undefined,
    );
    b.onLoad({ filter: /.*/, namespace: 'cjs' }, (a) => ({
      resolveDir: a.pluginData,
      contents: `import d from '${a.path}'; export default d; export * from '${a.path}';`,
    }));
  },
};
await build({
  entryPoints: ['src/main.jsx'],
  bundle: true,
  splitting: true,
  format: 'esm',
  outdir: 'dist',
  minify: true,
  jsx: 'automatic',
  logLevel: 'error',
  target: 'es2022',
  plugins: [interop],
  define: {
    'process.env.NODE_ENV': '"production"',
    global: 'globalThis',
  },
  loader: { '.woff2': 'file', '.svg': 'text', '.ttf': 'file' },
});
