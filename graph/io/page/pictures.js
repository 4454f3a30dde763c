/* Images as passes left them: the picture, the least and the most value, and how often which brightness occurs. */

function readPictures(raw, m) {
    for (const p of m.passes)
        p.pictures = [];
    for (const r of m.resources)
        r.pictures = [];
    for (const picture of raw.pictures ? readTable(raw.pictures) : []) {
        picture.pass = m.passes[picture.pass];
        picture.res = m.resources[picture.res];
        picture.pass.pictures.push(picture);
        picture.res.pictures.push(picture);
    }
    m.resources.forEach((r) => r.pictures.sort((a, b) => a.pass.slot - b.pass.slot));
}

function pixelsOf(picture) {
    if (!picture.pixels) {
        const text = atob(picture.rgba);
        picture.pixels = Uint8ClampedArray.from(text, (letter) => letter.charCodeAt(0));
    }
    return picture.pixels;
}

function pictureCanvas(picture) {
    const canvas = el('canvas.picture', { width: picture.width, height: picture.height, role: 'img',
                                          'aria-label': picture.res.label + ' as ' + picture.pass.label + ' left it' });
    canvas.getContext('2d').putImageData(new ImageData(pixelsOf(picture), picture.width, picture.height), 0, 0);
    return canvas;
}

const BINS = 64;

/* Red, green and blue, each as a curve over brightness. */
function histogram(picture) {
    const pixels = pixelsOf(picture), counts = [0, 1, 2].map(() => new Array(BINS).fill(0));
    for (let i = 0; i < pixels.length; i += 4) {
        for (let c = 0; c < 3; c++)
            counts[c][pixels[i + c] * BINS >> 8]++;
    }
    const most = Math.sqrt(d3.max(counts, (list) => d3.max(list)) || 1);
    const svg = d3.select(document.createElementNS('http://www.w3.org/2000/svg', 'svg'))
        .attr({ viewBox: '0 0 ' + BINS + ' 24', preserveAspectRatio: 'none', class: 'histogram', role: 'img',
                'aria-label': 'histogram' });
    const area = d3.svg.area().x((n, i) => i + 0.5).y0(24).y1((n) => 24 - 23 * Math.sqrt(n) / most).interpolate('step');
    counts.forEach((list, c) => svg.append('path').attr({ d: area(list), class: ['red', 'green', 'blue'][c] }));
    return svg.node();
}

function valueText(value) {
    return d3.format('.3r')(value);
}

/* other: the key that the picture is not shown for yet. */
function pictureBlock(picture, other) {
    return el('figure', null, pictureCanvas(picture), histogram(picture),
              el('figcaption.line', null, ref(other),
                 el('span.muted.num', null, valueText(picture.least) + ' … ' + valueText(picture.most))));
}

function passPictures(pass) {
    return block('As it left them', pass.pictures.map((picture) => pictureBlock(picture, 'r' + picture.res.id)));
}

function resourcePictures(res) {
    return block('Content, pass by pass', res.pictures.map((picture) => pictureBlock(picture, 'p' + picture.pass.id)));
}
