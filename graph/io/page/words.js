/* Numbers and reasons in words. A sentence is a pattern with {parts}: names of passes and resources become buttons that
 * select them. */

function bytesText(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let value = Number(bytes), unit = 0;
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        unit++;
    }
    const digits = unit === 0 || value >= 100 || value === Math.round(value) ? 0 : value >= 10 ? 1 : 2;
    return value.toFixed(digits) + ' ' + units[unit];
}

function timeText(us) {
    if (us >= 1e6)
        return (us / 1e6).toFixed(2) + ' s';
    if (us >= 1e3)
        return (us / 1e3).toFixed(us >= 1e4 ? 1 : 2) + ' ms';
    return (us >= 100 || us === Math.round(us) ? us.toFixed(0) : us.toFixed(1)) + ' µs';
}

function percentText(share) {
    const percent = isFinite(share) ? share * 100 : 0;
    return (percent > 0 && percent < 1 ? percent.toFixed(1) : Math.round(percent)) + ' %';
}

function countText(count, noun) {
    const plural = /(s|x|ch|sh)$/.test(noun) ? noun + 'es' : noun.replace(/([^aeiou])y$/, '$1ie') + 's';
    return d3.format(',')(count) + ' ' + (count === 1 ? noun : plural);
}

function sizeText(res) {
    if (res.buffer)
        return bytesText(res.bytes);
    let text = res.width + ' × ' + res.height + (res.depth > 1 ? ' × ' + res.depth : '');
    if (res.mips > 1)
        text += ', ' + countText(res.mips, 'mip');
    if (res.layers > 1)
        text += ', ' + countText(res.layers, 'layer');
    if (res.samples > 1)
        text += ', ' + countText(res.samples, 'sample');
    return text;
}

function formatText(res) {
    return res.buffer ? 'buffer' : nameOf(FORMAT_NAMES, res.format);
}

/* Which part of its resource a range is; nothing for the whole. */
function rangeText(res, range) {
    if (!range || !res)
        return '';
    if (res.buffer)
        return range.first === 0 && range.count >= res.bytes ? '' : 'bytes ' + range.first + ' – ' +
               (range.first + range.count - 1);
    const parts = [];
    if (range.first > 0 || range.count < res.mips)
        parts.push('mip ' + range.first + (range.count > 1 ? '–' + (range.first + range.count - 1) : ''));
    if (range.layer > 0 || range.layers < res.layers)
        parts.push('layer ' + range.layer + (range.layers > 1 ? '–' + (range.layer + range.layers - 1) : ''));
    if (range.aspect)
        parts.push(range.aspect === 2 ? 'depth' : range.aspect === 4 ? 'stencil' : 'depth and stencil');
    return parts.join(', ');
}

const SENTENCES = {
    reason: {
        'none': 'No reason is known.',
        'read after write': '{pass} reads what {otherPass} wrote to {res}.',
        'write after read': '{pass} overwrites {res}, which {otherPass} reads before.',
        'write after write': '{pass} writes {res} after {otherPass} did.',
        'layout': '{pass} needs {res} in another layout than {otherPass} left it in.',
        'first use': '{pass} is the first to use {res}, whose former content is not needed.',
        'alias': '{pass} begins to use {res} in bytes that {otherPass} used for {otherRes}.',
        'release': '{res} leaves its queue family, because {pass} needs it on another one.',
        'acquire': '{res} arrives from another queue family, because {pass} needs it.',
        'final state': 'The frame leaves {res} as the next frame, or the engine, expects it.',
    },
    cut: {
        'none': 'No reason is known.',
        'first': 'The first submit of its queue; it begins with {pass}.',
        'wait': '{pass} waits for {otherPass} on another queue, what stands before it does not.',
        'signal': '{pass}, on another queue, waits for {otherPass}, but not for what follows.',
        'end': 'The last submit of its queue; it ends with {pass}.',
    },
    placing: {
        'none': 'No reason is known.',
        'external': 'Comes from outside with memory of its own.',
        'persistent': 'Kept from frame to frame: shares its bytes with no other resource. Takes turns with {otherRes}.',
        'host': 'Host passes use it, {pass} the first of them: it lies in memory that the CPU sees.',
        'first tenant': 'The first in the frame to use these bytes, from {pass} on.',
        'takes over': 'Uses bytes that {otherRes} no longer needs: {otherPass} was the last to use them, ' +
                      '{pass} is next.',
    },
    cull: {
        'none': 'No reason is known.',
        'writes nothing': 'It is no root and writes nothing.',
        'unread': 'No pass reads {res}, which it writes, and the frame does not keep it.',
        'overwritten': '{otherPass} overwrites {res} before any pass reads it.',
        'reader culled': 'Only {otherPass} would read {res}, and that pass is culled too.',
    },
};
const UNKNOWN = { pass: 'a later pass', otherPass: 'earlier work', res: 'memory', otherRes: 'another resource' };

function whyWord(m, why) {
    const words = m.words[why.list];
    return words[why.code] || '?';
}

/* A reason as pieces: text, and keys of what it names. */
function whyPieces(m, why) {
    const pattern = SENTENCES[why.list][whyWord(m, why)] || whyWord(m, why);
    const absent = why.list === 'placing' && why.otherRes === NONE ? pattern.replace(/ Takes turns with.*/, '')
        : pattern;
    return absent.split(/(\{\w+\})/).filter((part) => part).map((part) => {
        const name = part[0] === '{' ? part.slice(1, -1) : null;
        if (!name)
            return { text: part };
        const index = why[name], items = /ass$/.test(name) ? m.passes : m.resources;
        if (index === NONE || !items[index])
            return { text: UNKNOWN[name] };
        return { key: (items === m.passes ? 'p' : 'r') + index, text: items[index].label };
    });
}

function whySentence(m, why) {
    const text = whyPieces(m, why).map((piece) => piece.text).join('');
    return text[0].toUpperCase() + text.slice(1);
}

const KIND_WORDS = { read: 'reads', write: 'overwrites', clear: 'clears, then writes', both: 'reads and writes',
                     resolve: 'resolves into' };

/* What a pass's use is for, with the access's own word. */
function useText(use) {
    const name = (use.access.name || 'custom').replace(/_/g, ' ');
    return KIND_WORDS[use.kind] + ' · ' + name;
}

/* ---- load and store operations, and why passes do not share a scope ---- */

/* The use behind an attachment of a scope. */
function attachmentUse(scope, attachment) {
    const first = scope.passes[0];
    return first ? first.uses[attachment.use] : null;
}

function loadReason(attachment, use) {
    const words = { LOAD: 'the pass goes on with earlier content', CLEAR: 'declared: cleared at the start',
                    DONT_CARE: 'declared: every texel is overwritten' };
    return words[nameOf(LOAD_NAMES, attachment.load)] || '';
}

/* The next pass behind a scope that reads what it leaves. */
function nextReader(scope, use) {
    const last = scope.passes[scope.passes.length - 1];
    return use.res.uses.find((other) => other.pass.slot > last.slot && other.reads && meet(use, other)) || null;
}

function storePieces(scope, attachment, use) {
    const name = nameOf(STORE_NAMES, attachment.store);
    if (name === 'NONE')
        return [{ text: 'the scope writes nothing to it' }];
    if (name === 'DONT_CARE')
        return [{ text: 'no pass reads what is left' }];
    const reader = nextReader(scope, use);
    if (!reader)
        return [{ text: 'the frame keeps it' }];
    return [{ text: 'read next by ' }, { key: 'p' + reader.pass.id, text: reader.pass.label }];
}

function attachmentsOf(pass) {
    return pass.uses.filter((use) => use.access.attachment === ATTACHMENT_COLOR ||
                                     use.access.attachment === ATTACHMENT_DEPTH);
}

/* Why a pass shares no rendering scope with the one before it on its queue, as pieces; null: it shares one, or is none
 * that renders. */
function apartPieces(m, pass) {
    const list = m.queues[pass.queue] ? m.queues[pass.queue].passes : [];
    const before = list[list.indexOf(pass) - 1];
    const here = attachmentsOf(pass);
    if (!pass.scope || !before || !before.scope || before.scope === pass.scope)
        return null;
    const name = { key: 'p' + before.id, text: before.label };
    const there = attachmentsOf(before);
    const odd = here.find((use) => !there.some((other) => other.res === use.res && rangesEqual(use, other)));
    if (odd || here.length !== there.length) {
        const use = odd || there.find((other) => !here.some((mine) => mine.res === other.res));
        return [name, { text: ' renders to other attachments: ' },
                use ? { key: 'r' + use.res.id, text: use.res.label } : { text: 'they differ' },
                { text: odd ? ' is not among them.' : ' is not among these.' }];
    }
    const cleared = here.find((use) => use.kind === 'clear' || use.kind === 'write');
    if (cleared)
        return [{ text: 'It starts ' }, { key: 'r' + cleared.res.id, text: cleared.res.label },
                { text: ' anew, and so a new scope, behind ' }, name, { text: '.' }];
    if (before.submit !== pass.submit)
        return [{ text: 'A submit ends between ' }, name, { text: ' and this pass.' }];
    if (pass.before.length)
        return [{ text: 'A barrier between ' }, name, { text: ' and this pass: ' },
                { key: 'b' + pass.before[0].id, text: 'see why' }, { text: '.' }];
    return [name, { text: ' has the same attachments: the plan was compiled without merging.' }];
}
