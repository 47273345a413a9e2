// One HTML file: scripts, styles and the module inlined, so that it opens from disk without a server.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

const MODULE = process.env.QCNLAB_WASM
const VIRTUAL = 'virtual:module'

/** The WebAssembly module, packed, as base64. */
const asText = {
  name: 'module-as-text',
  resolveId: (id) => (id === VIRTUAL ? '\0' + VIRTUAL : undefined),
  load: (id) =>
    id === '\0' + VIRTUAL ? `export default ${JSON.stringify(gzipSync(readFileSync(MODULE), { level: 9 }).toString('base64'))}` : undefined,
}

/** Puts scripts and styles into the page, and what hash its sources have. */
const inOneFile = {
  name: 'in-one-file',
  enforce: 'post',
  generateBundle(_, bundle) {
    const page = Object.values(bundle).find((file) => file.fileName.endsWith('.html'))
    const put = (pattern, open, text, close) => {
      page.source = page.source.replace(pattern, () => open + text + close)
    }
    for (const file of Object.values(bundle)) {
      if (file.fileName.endsWith('.js')) {
        put(/<script type="module"[^>]*><\/script>/, '', '', '')
        put('</body>', '<script type="module">', file.code.replaceAll('</script', '<\\/script'), '</script>\n</body>')
      } else if (file.fileName.endsWith('.css')) {
        put(/<link rel="stylesheet"[^>]*>/, '<style>', file.source, '</style>')
      } else continue
      delete bundle[file.fileName]
    }
    const notice = readFileSync('NOTICE', 'utf8').trim()
    put('<!-- NOTICE -->', `<!--\nsources ${process.env.QCNLAB_SOURCES}\n\n`, notice, '\n-->')
  },
}

export default defineConfig({
  plugins: [svelte({ compilerOptions: { css: 'external' } }), asText, inOneFile],
  build: { outDir: process.env.QCNLAB_OUT ?? 'dist', assetsInlineLimit: 1e9, modulePreload: false, cssCodeSplit: false },
  // A page from disk may not start a worker that is a module.
  worker: { format: 'iife' },
})
