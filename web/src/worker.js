// A laboratory off the page's thread. It answers each message; runs advance only as far as they are asked to.

import { Lab } from './lab.js'
import { Series } from './series.js'

let lab
let held = null

const tasks = {
  async open({ module }) {
    lab = await Lab.of(module)
  },

  catalogue: () => ({ ...lab.json('catalogue'), ...lab.names }),

  /** The scenario, checked, with the margins of its loops or why there are none. */
  check({ asked }) {
    const checked = lab.json('check', asked)
    try {
      checked.margins = lab.json('margins', asked)
    } catch (why) {
      checked.margins = { phases: [], why: why.message }
    }
    return checked
  },

  start({ asked, duration, bin }) {
    if (held) lab.forget(held.run)
    const { run, network } = lab.json('start', asked, 0)
    held = { run, duration, series: new Series(network, duration, bin), cpu: 0 }
    return { network }
  },

  /** Advances to `until`, but stops early when `budget` milliseconds are over. */
  advance({ from, until, budget }) {
    const { run, series, duration } = held
    const began = performance.now()
    let at = from
    let goesOn = true
    const slice = (until - from) / 4
    while (goesOn && at < until && performance.now() - began < budget) {
      at = Math.min(until, at + slice)
      goesOn = lab.numbers('advance', run, at)[0] === 1
    }
    const took = performance.now() - began
    held.cpu += took
    if (goesOn) {
      series.read(lab, run)
      return { at, curves: series.upTo(at), ports: lab.numbers('ports', run), cpu: held.cpu, took }
    }
    const ports = lab.numbers('ports', run)
    const summary = lab.json('end', '', run)
    series.read(lab, run)
    const pauses = lab.rows(run, 'pauses', 0).count
    const [{ end_s: end }] = summary.ends
    return { at: duration, curves: series.upTo(Math.min(duration, end)), ports, cpu: held.cpu, took, summary, pauses }
  },

  csv: ({ table }) => lab.text('csv', table, held.run),

  /** A whole run at once, for measuring and for the tests. */
  through({ asked, replication = 0 }) {
    const began = performance.now()
    const { run } = lab.json('start', asked, replication)
    const summary = lab.json('end', '', run)
    const ms = performance.now() - began
    const digests = lab.text('digests', '', run)
    lab.forget(run)
    return { summary, digests, ms }
  },
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage({ id: data.id, value: await tasks[data.task](data) })
  } catch (error) {
    self.postMessage({ id: data.id, error: error.message })
  }
}
