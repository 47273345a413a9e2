// Where nodes stand in the picture: in [0, 1] x [0, 1].

/** Nodes of flows that go one way stand by how far along the paths they are; others by how far from the hosts. */
export function layout({ nodes, ports, flows }) {
  const used = new Set(flows.flatMap((flow) => flow.path.flatMap((port) => [ports[port].from, ports[port].to])))
  const levels = alongPaths({ nodes, ports, flows }) ?? fromHosts({ nodes, ports })
  const byLevel = new Map()
  nodes.forEach((_, node) => {
    if (!used.has(node)) return
    const level = levels[node]
    byLevel.set(level, [...(byLevel.get(level) ?? []), node])
  })
  const ordered = [...byLevel.keys()].sort((a, b) => a - b)
  const neighbours = nodes.map(() => new Set())
  for (const { from, to } of ports) {
    neighbours[from].add(to)
    neighbours[to].add(from)
  }
  const place = nodes.map(() => null)
  ordered.forEach((level, column) => {
    const here = byLevel.get(level)
    const x = ordered.length > 1 ? column / (ordered.length - 1) : 0.5
    const mean = (node) => {
      const known = [...neighbours[node]].map((other) => place[other]?.y).filter((y) => y !== undefined)
      return known.length ? known.reduce((sum, y) => sum + y, 0) / known.length : node / nodes.length
    }
    const means = new Map(here.map((node) => [node, mean(node)]))
    here.sort((a, b) => means.get(a) - means.get(b) || a - b)
    here.forEach((node, row) => {
      place[node] = { x, y: (row + 1) / (here.length + 1) }
    })
  })
  return place
}

/** The longest way from a source to each node along the paths; null where a path leads back. */
function alongPaths({ nodes, ports, flows }) {
  const levels = nodes.map(() => 0)
  for (let round = 0; round <= nodes.length; round++) {
    let moved = false
    for (const { path } of flows) {
      for (const port of path) {
        const { from, to } = ports[port]
        if (levels[to] < levels[from] + 1) {
          levels[to] = levels[from] + 1
          moved = true
        }
      }
    }
    if (!moved) return levels
    if (Math.max(...levels) > nodes.length) return null
  }
  return null
}

function fromHosts({ nodes, ports }) {
  const levels = nodes.map((node) => (node.host ? 0 : Infinity))
  for (let round = 0; round < nodes.length; round++) {
    for (const { from, to } of ports) {
      levels[to] = Math.min(levels[to], levels[from] + 1)
      levels[from] = Math.min(levels[from], levels[to] + 1)
    }
  }
  return levels.map((level) => (Number.isFinite(level) ? level : 0))
}
