// Which measures mean something of a run: what `qcnlab run` prints unasked, by what each measure declares of itself.

const LEAST_SHARE = 0.5

const middle = (summary, name) => summary.metrics[name]?.median ?? null

/** Whether one port is the bottleneck: of a hotspot, named, a star's, or crossed by half of what flows get. */
function hasBottleneck(summary, values) {
  if (values.hotspot?.length || values.record?.bottleneck || values.topology.kind === 'star') return true
  const [through, all] = ['bottleneck_gbps', 'aggregate_gbps'].map((name) => middle(summary, name))
  return through !== null && all !== null && through >= LEAST_SHARE * all
}

/** What a measure must not be about, to mean something of a run. */
function without(summary, values) {
  const facts = []
  if (middle(summary, 'started') > 0) facts.push('rates')
  else if (summary.flows === 1) facts.push('several')
  if (!hasBottleneck(summary, values)) facts.push('one_port')
  if (!values.hotspot?.length) facts.push('outside_hotspot')
  return facts
}

/** The measures that mean something of one of several runs; those of completion first. `runs` has the summaries and values of each. */
export function applicable(metrics, runs) {
  const told = ({ summaries: [first, ...others], values }) => {
    const lacking = without(first, values)
    return ({ name, facts }) =>
      !lacking.some((fact) => facts[fact]) && !(facts.silent_at_zero && [first, ...others].every((one) => !middle(one, name)))
  }
  const means = runs.map(told)
  const kept = metrics.filter((metric) => means.some((one) => one(metric)))
  return [...kept.filter(({ facts }) => facts.ending), ...kept.filter(({ facts }) => !facts.ending)]
}
