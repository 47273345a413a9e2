// The figures over simulated time, as data: what each is called, its unit, its lines, and the series that they draw.

/** Lines of each figure: the run that colours a line, its width, whether it is faint, and the line down to which an area is filled. */
const oneEach = (runs) => runs.map(({ number }) => ({ run: number }))
const highAndLow = (runs) =>
  runs.flatMap(({ number }, at) => [{ run: number, width: 1.5, band: 2 * at + 1 }, { run: number, width: 1, faint: true }])
const meanAndSources = (runs) =>
  runs.flatMap(({ number, sources }) => [
    { run: number, width: 2.5 },
    ...Array.from({ length: sources }, () => ({ run: number, width: 1, faint: true })),
  ])

/** `lines` is asked for with each run's number and how many of its sources are drawn, `series` with a run's curves. */
export const CHARTS = [
  {
    name: 'queue',
    title: 'Queue at the bottleneck',
    unit: 'KB, least and largest in each step',
    lines: highAndLow,
    series: (curves) => [curves.high, curves.low],
  },
  {
    name: 'throughput',
    title: 'Throughput of the bottleneck',
    unit: 'Gb/s',
    lines: oneEach,
    series: (curves) => [curves.throughput],
  },
  {
    name: 'rates',
    title: 'Rates of the sources',
    unit: 'Gb/s, thick: their mean',
    lines: meanAndSources,
    series: (curves) => [curves.meanRate, ...curves.rates],
  },
  {
    name: 'messages',
    title: 'Messages',
    unit: 'in each millisecond',
    lines: oneEach,
    series: (curves) => [curves.messages],
  },
]
