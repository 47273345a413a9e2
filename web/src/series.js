// Rows of a run as curves of at most COLUMNS points, whatever their number: each point is a span of time with its least
// and its largest value.

export const COLUMNS = 800
const SOURCES = 4
const GIGA = 1e-9

const empty = () => new Float64Array(COLUMNS).fill(NaN)

export class Series {
  constructor(network, duration, bin) {
    this.network = network
    this.duration = duration
    this.bin = bin
    this.seen = { queues: 0, rates: 0, throughput: 0, messages: 0 }
    this.queue = { low: empty(), high: empty() }
    this.rates = network.flows.slice(0, SOURCES).map(empty)
    this.meanRate = empty()
    this.throughput = empty()
    this.messages = new Float64Array(COLUMNS)
    this.total = 0
    this.sums = { rate: new Float64Array(COLUMNS), count: new Float64Array(COLUMNS) }
    this.octets = new Float64Array(COLUMNS)
    this.binsOf = new Float64Array(COLUMNS)
    this.crossing = network.flows.filter((flow) => flow.crosses).length
  }

  column(time) {
    return Math.min(COLUMNS - 1, Math.floor((time / this.duration) * COLUMNS))
  }

  /** Takes the rows that are new. */
  read(lab, run) {
    const fresh = (table) => {
      const rows = lab.rows(run, table, this.seen[table])
      this.seen[table] += rows.count
      return rows
    }
    const { bottleneck, flows } = this.network
    const queues = fresh('queues')
    for (let row = 0; row < queues.count; row++) {
      if (queues.port[row] !== bottleneck) continue
      const at = this.column(queues.time[row])
      const { low, high } = this.queue
      const kilo = queues.octets[row] * 1e-3
      if (!(kilo >= low[at])) low[at] = kilo
      if (!(kilo <= high[at])) high[at] = kilo
    }
    const rates = fresh('rates')
    for (let row = 0; row < rates.count; row++) {
      const at = this.column(rates.time[row])
      const current = rates.current[row] * GIGA
      if (rates.flow[row] < this.rates.length) this.rates[rates.flow[row]][at] = current
      this.sums.rate[at] += current
      this.sums.count[at]++
      this.meanRate[at] = this.sums.rate[at] / this.sums.count[at]
    }
    const bins = fresh('throughput')
    for (let row = 0; row < bins.count; row++) {
      const at = this.column(bins.time[row])
      if (!flows[bins.flow[row]].crosses) continue
      this.octets[at] += bins.octets[row]
      this.binsOf[at] += 1 / this.crossing
      this.throughput[at] = (this.octets[at] * 8 * GIGA) / (this.binsOf[at] * this.bin)
    }
    const messages = fresh('messages')
    for (let row = 0; row < messages.count; row++) this.messages[this.column(messages.time[row])]++
    this.total += messages.count
  }

  /** The curves up to `time`. */
  upTo(time) {
    const known = this.column(time)
    const perMs = COLUMNS / this.duration / 1000
    const messages = this.messages.map((count, at) => (at <= known ? count * perMs : NaN))
    const { queue, rates, meanRate, throughput } = this
    return { low: queue.low, high: queue.high, rates, meanRate, throughput, messages, total: this.total }
  }
}
