// Files that a viewer keeps, made in the page.

import { css } from './colours.js'

export function save(name, content, type) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

/** Saves canvases below each other under a title and a legend. */
export function savePicture(name, canvases, [title, ...legend]) {
  const scale = devicePixelRatio || 1
  const width = Math.max(...canvases.map((canvas) => canvas.width))
  const top = (34 + 20 * legend.length) * scale
  const picture = document.createElement('canvas')
  picture.width = width
  picture.height = top + canvases.reduce((sum, canvas) => sum + canvas.height, 0)
  const pen = picture.getContext('2d')
  pen.fillStyle = css('--page')
  pen.fillRect(0, 0, picture.width, picture.height)
  pen.fillStyle = css('--text')
  pen.font = `600 ${15 * scale}px system-ui, sans-serif`
  pen.fillText(title, 8 * scale, 20 * scale, width - 16 * scale)
  pen.font = `${13 * scale}px system-ui, sans-serif`
  legend.forEach((one, number) => {
    pen.fillStyle = one.colour
    pen.fillText(`■ ${one.name}`, 8 * scale, (42 + 20 * number) * scale)
  })
  let y = top
  for (const canvas of canvases) {
    pen.drawImage(canvas, 0, y)
    y += canvas.height
  }
  picture.toBlob((blob) => save(name, blob, 'image/png'))
}
