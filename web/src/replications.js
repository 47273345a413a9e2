// Replications beside the page's own run: whole runs in workers of their own, as many at once as the machine has room for.

import { Bench } from './bench.js'

const MOST = 4

export class Replications {
  #benches = []
  #turn = 0

  /** Stops what runs. */
  stop() {
    this.#turn++
    this.#benches.forEach((bench) => bench.stop())
    this.#benches = []
  }

  /** Runs replications 1 to `reps` - 1 of each question; `told` gets a question's number and a summary, as each is done. */
  async run(questions, reps, told) {
    const turn = ++this.#turn
    // One replication of all, then the next, so that the medians of all grow together.
    const waiting = Array.from({ length: reps - 1 }, (_, number) => questions.map((asked, variant) => ({ asked, variant, replication: number + 1 }))).flat()
    const cores = Math.max(1, (navigator.hardwareConcurrency ?? 2) - 1)
    this.#benches = Array.from({ length: Math.min(MOST, cores, waiting.length) }, () => new Bench())
    await Promise.all(
      this.#benches.map(async (bench) => {
        while (turn === this.#turn && waiting.length) {
          const { asked, variant, replication } = waiting.shift()
          const { summary } = await bench.ask('through', { asked, replication })
          if (turn === this.#turn) told(variant, summary)
        }
        bench.stop()
      }),
    )
  }
}

/** The median and the range of a metric over summaries of single runs, and how many of them have one. */
export function spread(summaries, name) {
  const known = summaries.map((summary) => summary.metrics[name].median).filter((value) => value !== null)
  known.sort((a, b) => a - b)
  const half = known.length / 2
  const median = known.length % 2 ? known[Math.floor(half)] : (known[half - 1] + known[half]) / 2
  return { median: known.length ? median : null, low: known[0], high: known.at(-1), known: known.length, of: summaries.length }
}
