// What the page shows and what a viewer does to it. The components draw this and call it.

import { tick } from 'svelte'
import { beginning } from './lessons.js'
import { colours, isDark } from './colours.js'
import { plainName } from './knobs.js'
import { Player } from './player.js'
import { shown } from './quantities.js'
import { Replications } from './replications.js'
import { COLUMNS } from './series.js'
import { asked, fromFragment, toFragment } from './setup.js'

export class Laboratory {
  player = new Player()
  desk = this.player.bench(0)
  replications = new Replications()

  catalogue = $state.raw(null)
  setup = $state(setupOf(location.hash))
  checked = $state.raw([])
  fault = $state('')
  runs = $state.raw([])
  time = $state(0)
  steps = $state(0)
  peak = $state(1e5)
  running = $state(false)
  /** What is set up has changed, and its run has not begun. */
  pending = $state(false)
  paused = $state(false)
  theme = $state(isDark() ? 'dark' : 'light')
  /** Summaries of the other replications of each run, as far as they are done. */
  repeated = $state.raw([])

  file = $derived(this.catalogue?.scenarios.find((one) => one.name === this.setup.scenario))
  text = $derived(this.setup.text ?? this.file?.text ?? '')
  own = $derived(/\[scheme\][^[]*?name\s*=\s*"([^"]+)"/s.exec(this.text)?.[1] ?? null)
  values = $derived(this.checked[0]?.values)
  duration = $derived(this.values?.duration ?? 1)
  unit = $derived(this.duration < 0.2 ? { name: 'ms', size: 1e-3 } : { name: 's', size: 1 })
  x = $derived(Float64Array.from({ length: COLUMNS }, (_, column) => ((column + 0.5) * this.duration) / COLUMNS / this.unit.size))
  marks = $derived((this.values?.hotspot ?? []).map(({ from, until }) => [from / this.unit.size, until / this.unit.size]))
  palette = $derived((void this.theme, colours()))
  labels = $derived(this.setup.variants.map((variant, number) => this.#label(variant, number)))
  /** The schemes against each other, for a title. */
  against = $derived([...new Set(this.setup.variants.map((variant, number) => this.#scheme(variant, number)))].join(' against '))
  done = $derived(this.runs.length > 0 && this.runs.every((run) => run.summary))

  #turn = 0
  #timer

  #scheme(variant, number) {
    const name = (this.checked[number]?.values.scheme?.name ?? variant.scheme ?? this.own ?? '').replaceAll('_', ' ').toUpperCase()
    return name === 'NONE' ? 'no control' : name
  }

  #label(variant, number) {
    const preset = this.checked[number]?.values.scheme?.preset
    const changes = Object.entries(variant.set).map(([key, to]) => `${plainName(key)} ${to}`)
    const rest = changes.length ? changes : preset && preset !== 'DEFAULT' ? [preset] : []
    return [this.#scheme(variant, number), ...rest].join(', ')
  }

  #address() {
    history.replaceState(null, '', '#' + toFragment($state.snapshot(this.setup)))
  }

  /** Loads the catalogue and runs what the address sets up. */
  async begin() {
    this.player.pace = this.setup.pace
    try {
      this.catalogue = await this.desk.ask('catalogue')
      await tick()
      await this.restart()
    } catch (error) {
      this.fault = error.message
    }
  }

  /** Runs what is set up: checked first, so that a mistake is told and nothing stops before. */
  async restart() {
    const mine = ++this.#turn
    this.#address()
    const setup = $state.snapshot(this.setup)
    const questions = setup.variants.map((variant) => asked(setup, variant, this.text, this.own))
    let answers
    try {
      answers = []
      for (const question of questions) answers.push(await this.desk.ask('check', { asked: question }))
    } catch (error) {
      if (mine !== this.#turn) return
      this.fault = inPlainWords(error.message)
      this.pending = false
      return
    }
    if (mine !== this.#turn) return
    this.fault = ''
    this.player.stop()
    this.replications.stop()
    this.repeated = []
    this.checked = answers
    // Curves need rows, which a load for measuring does not keep.
    const rows = (question, answer) =>
      answer.values.record.tables ? question : { ...question, set: [...question.set, 'record.tables=true'] }
    const runs = questions.map((question, number) => rows(question, answers[number]))
    this.runs = runs.map(() => ({}))
    this.time = 0
    this.peak = 1e5
    this.running = true
    this.pending = false
    this.paused = this.player.paused = false
    try {
      await this.player.play(runs, answers[0].values.duration, answers[0].values.record.throughput_bin, {
        built: (number, network) => {
          this.runs = this.runs.map((run, index) => (index === number ? { network } : run))
        },
        show: (answers) => this.#show(answers),
        ended: () => {
          this.running = false
          this.repeat()
        },
      })
    } catch (error) {
      if (mine === this.#turn) {
        this.fault = error.message
        this.running = false
      }
    }
  }

  #show(answers) {
    const next = [...this.runs]
    for (const [number, { curves, ports, at: reached, summary, cpu }] of answers) {
      const last = next[number]
      const step = { before: last.ports, ports, seconds: reached - (last.at ?? 0) }
      next[number] = { ...last, curves, ...step, at: reached, cpu, summary }
    }
    this.runs = next
    const { port: columns } = this.catalogue
    const longest = columns.indexOf('queue')
    for (const [, { ports }] of answers) {
      for (let at = longest; at < ports.length; at += columns.length) this.peak = Math.max(this.peak, ports[at])
    }
    this.steps++
    this.time = Math.min(...next.map((run) => run.at ?? 0))
  }

  /** Runs the other replications beside the page, if they are asked for and not done. */
  async repeat() {
    this.replications.stop()
    this.repeated = []
    const { reps } = this.setup
    if (reps < 2 || !this.done) return
    const setup = $state.snapshot(this.setup)
    const questions = setup.variants.map((variant) => {
      const question = asked(setup, variant, this.text, this.own)
      return { ...question, set: [...question.set, 'record.tables=false'] }
    })
    this.repeated = questions.map(() => [])
    try {
      await this.replications.run(questions, reps, (variant, summary) => {
        this.repeated = this.repeated.map((all, number) => (number === variant ? [...all, summary] : all))
      })
    } catch (error) {
      this.fault = error.message
    }
  }

  soon() {
    clearTimeout(this.#timer)
    this.pending = true
    this.#timer = setTimeout(() => this.restart(), 150)
  }

  set(key, to) {
    this.setup.set = { ...this.setup.set, [key]: to }
    this.soon()
  }

  setOf(number, key, to) {
    const variant = this.setup.variants[number]
    this.setup.variants[number] = { ...variant, set: { ...variant.set, [key]: to } }
    this.soon()
  }

  /** Takes back what was set of the network. */
  reset() {
    this.setup.set = {}
    this.soon()
  }

  choose(name) {
    this.setup = { ...this.setup, scenario: name, text: null, set: {}, variants: [{ scheme: null, set: {} }] }
    this.soon()
  }

  take(text) {
    this.setup = { ...this.setup, text, set: {}, variants: [{ scheme: null, set: {} }] }
    this.soon()
  }

  scheme(number, name) {
    this.setup.variants[number] = { scheme: name, set: {} }
    this.soon()
  }

  add() {
    this.setup.variants = [...this.setup.variants, $state.snapshot(this.setup.variants.at(-1))]
    this.soon()
  }

  remove(number) {
    this.setup.variants = this.setup.variants.filter((_, index) => index !== number)
    this.soon()
  }

  replicate(reps) {
    this.setup.reps = reps
    this.#address()
    this.repeat()
  }

  pace(to) {
    this.setup.pace = this.player.pace = to
    this.#address()
  }

  pause() {
    this.paused = this.player.paused = !this.paused
  }

  turnLights() {
    document.documentElement.dataset.theme = this.theme = isDark() ? 'light' : 'dark'
  }

  /** Sets up what the address says. */
  follow() {
    const next = setupOf(location.hash)
    if (toFragment(next) !== toFragment($state.snapshot(this.setup))) {
      this.setup = next
      this.soon()
    }
    this.player.pace = this.setup.pace
  }

  /** Opens a lesson with what it begins with; without a number closes it, and what is set up stays. */
  teach(number) {
    if (number === null) {
      this.setup.lesson = null
      this.#address()
      return
    }
    this.setup = setupOf(`#lesson=${number}`)
    this.player.pace = this.setup.pace
    this.soon()
  }

  /** Why a run ended before its time, if it did. */
  ended(number) {
    const end = this.runs[number]?.summary?.ends[0]
    if (end?.why !== 'deadlock') return null
    return `deadlock, found at ${shown(end.end_s, 'time')}: ${end.circle.join(', ')} are stopped, each waits for the next and the last for the first. Measures are of the time before.`
  }
}

/** What an address sets up: a lesson without a scenario sets up what it begins with. */
function setupOf(fragment) {
  const asked = fromFragment(fragment)
  const lessonAlone = asked.lesson !== null && !/scenario=|text=/.test(fragment)
  return lessonAlone ? fromFragment(beginning(asked.lesson)) : asked
}

/** A mistake in a value that the page set, by the name that stands beside its slider. */
const inPlainWords = (message) =>
  message.replace(/in override "([^"=]+)=([^"]*)"/g, (_, key, to) => `in “${plainName(key)}”: ${to}`)
