// Bundles the page into dist/.
import { build } from 'esbuild';

// Grafana's .mjs files import CommonJS packages that set __esModule. esbuild gives them the whole module where they
// expect its default; a shim between the two restores what webpack makes of it.
const CJS =
  /^(react-grid-layout|react-virtualized-auto-sizer|react-custom-scrollbars-2|react-highlight-words|react-calendar|calculate-size|react-use\/lib\/.+|rc-picker\/lib\/.+)$/;
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
    // @grafana/scenes imports these without their extension.
    b.onResolve({ filter: /^@grafana\/schema\/dist\/.+_types\.gen$/ }, (a) =>
      b.resolve(`${a.path}.js`, { resolveDir: a.resolveDir, kind: a.kind }),
    );
    // The editor of code, 10 MB, is in no panel.
    b.onResolve({ filter: /^(monaco-editor|react-monaco-editor)(\/|$)/ }, (a) => ({ path: a.path, namespace: 'none' }));
    b.onLoad({ filter: /.*/, namespace: 'none' }, () => ({ contents: 'module.exports = {}' }));
  },
};
await build({
  entryPoints: ['src/main.jsx'],
  bundle: true,
  splitting: true,
  format: 'esm',
  outdir: 'dist',
  alias: { 'react-router-dom-v5-compat': 'react-router-dom' }, // one router, not two
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
