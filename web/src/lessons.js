// The lessons, in order: pages of HTML beside this file. Links of class `run` set the laboratory up; `data-show` names the
// figure that a step speaks of, `data-minutes` how long a part takes in a class.

const pages = import.meta.glob('./lessons/*.html', { query: '?raw', import: 'default', eager: true })

/** The parts of a lesson, with when each begins and ends. */
function planOf(html) {
  const parts = [['The question', /<h1 data-minutes="(\d+)">/.exec(html)[1]]]
  for (const [, minutes, what] of html.matchAll(/<h2 data-minutes="(\d+)">(.*?)<\/h2>/gs)) parts.push([what, minutes])
  let from = 0
  return parts.map(([what, minutes]) => ({ what, from, until: (from += Number(minutes)) }))
}

export const lessons = Object.keys(pages)
  .sort()
  .map((name) => ({ html: pages[name], title: /<h1[^>]*>(.*?)<\/h1>/s.exec(pages[name])[1], plan: planOf(pages[name]) }))

/** A lesson's number from 1, whatever was asked for. */
export const lessonNumber = (asked) => Math.min(lessons.length, Math.max(1, Math.floor(Number(asked)) || 1))

/** The fragment of what a lesson begins with: its first link to the laboratory. */
export const beginning = (asked) =>
  /<a class="run"[^>]*? href="([^"]+)"/.exec(lessons[lessonNumber(asked) - 1].html)[1].replaceAll('&amp;', '&')
