// Runs side by side: all advance together, and as fast as the viewer wants.

import { Bench } from './bench.js'

const FRAME = 1000 / 60

export class Player {
  #benches = []
  #turn = 0
  pace = 0
  paused = false

  bench(number) {
    return (this.#benches[number] ??= new Bench())
  }

  stop() {
    this.#turn++
  }

  /** Runs what is asked to the end; `show` gets pairs of a run's number and what it answers. `duration` is in seconds. */
  async play(asked, duration, bin, { built, show, ended }) {
    const turn = ++this.#turn
    const live = () => turn === this.#turn
    const runs = asked.map((one, number) => ({ bench: this.bench(number), at: 0, number }))
    const start = (run) => run.bench.ask('start', { asked: asked[run.number], duration, bin })
    const networks = await Promise.all(runs.map(start))
    if (!live()) return
    networks.forEach(({ network }, number) => built(number, network))
    let chunk = duration / 400
    let frame = performance.now()
    while (live() && runs.some((run) => !run.done)) {
      if (this.paused) {
        frame = await nextFrame()
        continue
      }
      const began = await nextFrame()
      const passed = Math.min(0.1, (began - frame) / 1000)
      frame = began
      const behind = runs.filter((run) => !run.done)
      const common = Math.min(...behind.map((run) => run.at))
      const until = Math.min(duration, common + (this.pace > 0 ? this.pace * passed : chunk))
      const due = behind.filter((run) => run.at < until || until >= duration)
      const ask = (run) => run.bench.ask('advance', { from: run.at, until, budget: 2 * FRAME })
      const answers = await Promise.all(due.map(ask))
      if (!live()) return
      due.forEach((run, index) => {
        run.at = answers[index].at
        run.done = answers[index].summary !== undefined
      })
      show(due.map((run, index) => [run.number, answers[index]]))
      // As much as the slowest run computes in a frame or so, whatever else the page does.
      const took = Math.max(...answers.map((answer) => answer.took))
      chunk = Math.min(duration / 40, chunk * (took < FRAME ? 1.4 : took > 2 * FRAME ? 0.8 : 1))
    }
    if (live()) ended()
  }
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))
