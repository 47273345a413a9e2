// Rows of a run as curves of at most COLUMNS points, whatever their number: each point is a span of time with its least
// and its largest value.

import { TABLE } from './lab.js'

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
      const { count, columns } = lab.rows(run, TABLE[table], this.seen[table])
      this.seen[table] += count
      return [count, ...columns]
    }
    const { bottleneck, flows } = this.network
    const [queues, queueTime, port, octets] = fresh('queues')
    for (let row = 0; row < queues; row++) {
      if (port[row] !== bottleneck) continue
      const at = this.column(queueTime[row])
      const { low, high } = this.queue
      const kilo = octets[row] * 1e-3
      if (!(kilo >= low[at])) low[at] = kilo
      if (!(kilo <= high[at])) high[at] = kilo
    }
    const [rates, rateTime, flow, current] = fresh('rates')
    for (let row = 0; row < rates; row++) {
      const at = this.column(rateTime[row])
      if (flow[row] < this.rates.length) this.rates[flow[row]][at] = current[row] * GIGA
      this.sums.rate[at] += current[row] * GIGA
      this.sums.count[at]++
      this.meanRate[at] = this.sums.rate[at] / this.sums.count[at]
    }
    const [bins, binTime, binFlow, binOctets] = fresh('throughput')
    for (let row = 0; row < bins; row++) {
      const at = this.column(binTime[row])
      if (!flows[binFlow[row]].crosses) continue
      this.octets[at] += binOctets[row]
      this.binsOf[at] += 1 / this.crossing
      this.throughput[at] = (this.octets[at] * 8 * GIGA) / (this.binsOf[at] * this.bin)
    }
    const [messages, messageTime] = fresh('messages')
    for (let row = 0; row < messages; row++) this.messages[this.column(messageTime[row])]++
    this.total += messages
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
