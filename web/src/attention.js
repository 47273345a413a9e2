// Brings the figure that a step speaks of into view, and keeps it there while its run goes on.

/** So long a figure stays where it is while nothing runs, ms: tables that come then move what is below them. */
const SETTLED = 3000
/** So long a figure is waited for while nothing runs, ms. */
const LONGEST = 20_000
const OWN = ['wheel', 'touchmove', 'keydown', 'pointerdown']

export class Attention {
  #end = () => {}

  /**
   * Waits until a figure is there: `queue`, `throughput`, `rates`, `messages`, `measures`, `network`. A viewer who scrolls,
   * points or types ends it, and so does the next call.
   */
  async bring(name, lab, block) {
    this.#end()
    let mine = true
    const view = new ResizeObserver(() => place())
    const end = (this.#end = () => {
      mine = false
      view.disconnect()
      OWN.forEach((kind) => removeEventListener(kind, end))
    })
    OWN.forEach((kind) => addEventListener(kind, end, { passive: true }))
    const figure = () => document.getElementById(`figure-${name}`)
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches
    let shown = null
    const place = () => mine && shown?.scrollIntoView({ block, behavior: calm ? 'auto' : 'smooth' })
    const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
    // The address changes after the click, and what it sets up with it.
    await pause()
    while (mine && lab.pending) await pause()
    // What stood there before the step's own run began would move away again.
    const before = lab.steps
    let still = performance.now()
    while (mine && !lab.fault && performance.now() - still < (shown ? SETTLED : LONGEST)) {
      const found = figure()
      if (found && found !== shown && (lab.steps !== before || !lab.running)) {
        shown = found
        view.observe(found.parentElement)
        place()
        found.classList.add('meant')
        setTimeout(() => found.classList.remove('meant'), 2500)
      }
      if (lab.running) still = performance.now()
      await pause()
    }
    if (mine) end()
  }
}
